//! As much of the zip format as archives of arrays use: members that are stored or deflated, and sizes beyond 4 GB.
//!
//! Written here because readers for everything that a zip file can be bring cryptography along, and keep one of two members
//! of the same name without a word. Source: APPNOTE.TXT of PKWARE, version 6.3.

use std::io::{self, Read, Seek, SeekFrom, Write};

use flate2::{Compression, Crc, read::DeflateDecoder, write::DeflateEncoder};

use super::raw::cut_off;
use crate::error::Context;
use crate::{Error, ErrorKind, Result, error::bail};

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;

/// The kind of extra field that holds sizes of 64 bits.
const EXTRA_64: u16 = 1;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// The most that a byte of deflated data can become.
const MOST: u64 = 1032;

/// A file in an archive.
pub(super) struct Member {
    pub(super) name: String,
    /// How many bytes it has when it is read.
    pub(super) size: u64,
    method: u16,
    crc: u32,
    compressed: u64,
    start: u64,
}

/// A list of little-endian numbers.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        match self.0.split_at_checked(n) {
            Some((bytes, rest)) => {
                self.0 = rest;
                Ok(bytes)
            }
            None => bail!(Io, "expected {n} more bytes in the directory of the archive, got {}", self.0.len()),
        }
    }

    fn number(&mut self, n: usize) -> Result<u64> {
        Ok(self.bytes(n)?.iter().rev().fold(0, |all, &b| all << 8 | u64::from(b)))
    }
}

fn bytes_at(source: &mut (impl Read + Seek), at: u64, n: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; n];
    source.seek(SeekFrom::Start(at)).and_then(|_| source.read_exact(&mut bytes)).map_err(cut_off)?;
    Ok(bytes)
}

/// Where the directory of the archive lies: its position, its size, and the number of members.
fn directory(source: &mut (impl Read + Seek), len: u64) -> Result<(u64, u64, u64)> {
    // The end record is followed by a comment that may have any bytes.
    let tail = len.min(22 + u64::from(u16::MAX));
    let bytes = bytes_at(source, len - tail, tail as usize)?;
    let is_end = |&at: &usize| {
        let record = &bytes[at..];
        record[..4] == END.to_le_bytes()
            && usize::from(u16::from_le_bytes([record[20], record[21]])) == record.len() - 22
    };
    let Some(at) = (0..(bytes.len() + 1).saturating_sub(22)).rev().find(is_end) else {
        bail!(Io, "expected a zip archive, got {len} bytes without the end of one"; help = "check that the file is whole");
    };
    let mut end = Fields(&bytes[at + 8..]);
    let (_, mut count, mut size, mut start) = (end.number(2)?, end.number(2)?, end.number(4)?, end.number(4)?);
    let at = len - tail + at as u64;
    if at >= 20 {
        let locator = bytes_at(source, at - 20, 20)?;
        let mut locator = Fields(&locator);
        if locator.number(4)? == u64::from(LOCATOR_64) {
            locator.number(4)?;
            let record = bytes_at(source, locator.number(8)?, 56)?;
            let mut record = Fields(&record);
            if record.number(4)? != u64::from(END_64) {
                bail!(Io, "expected the record of a large archive where it is said to be, got something else");
            }
            record.bytes(28)?;
            (count, size, start) = (record.number(8)?, record.number(8)?, record.number(8)?);
        }
    }
    if start.checked_add(size).is_none_or(|end| end > at) {
        bail!(Io, "expected the directory before the end of the archive, got {size} bytes at {start} of {len}");
    }
    Ok((start, size, count))
}

/// The members of an archive, in the order of its directory.
pub(super) fn members(source: &mut (impl Read + Seek)) -> Result<Vec<Member>> {
    let len = source.seek(SeekFrom::End(0)).map_err(cut_off)?;
    let (start, size, count) = directory(source, len)?;
    // The directory lies in the file, so it is no larger than that.
    let bytes = bytes_at(source, start, size as usize)?;
    let mut fields = Fields(&bytes);
    let mut members = Vec::new();
    let mut total = 0u64;
    while !fields.0.is_empty() {
        let member = member(&mut fields)?;
        // Members that share their data could have a small archive take any amount of memory.
        total = total.saturating_add(member.compressed);
        if total > len || member.start > len {
            bail!(Io, "expected members within the {len} bytes of the archive, got `{}` beyond them", member.name);
        }
        let most = if member.method == STORED { member.compressed } else { member.compressed.saturating_mul(MOST) };
        if member.size > most || (member.method == STORED && member.size != most) {
            let Member { name, size, compressed, .. } = member;
            bail!(Io, "expected `{name}` to have a size that its data can have, got {size} bytes from {compressed}");
        }
        members.push(member);
    }
    if members.len() as u64 != count {
        bail!(Io, "expected {count} members in the archive, got {}", members.len());
    }
    Ok(members)
}

/// The next entry of the directory.
fn member(fields: &mut Fields) -> Result<Member> {
    if fields.number(4)? != u64::from(CENTRAL) {
        bail!(Io, "expected an entry in the directory of the archive, got something else");
    }
    fields.bytes(4)?;
    let (flags, method) = (fields.number(2)?, fields.number(2)? as u16);
    fields.bytes(4)?;
    let crc = fields.number(4)? as u32;
    let (mut compressed, mut size) = (fields.number(4)?, fields.number(4)?);
    let lengths = [fields.number(2)? as usize, fields.number(2)? as usize, fields.number(2)? as usize];
    fields.bytes(8)?;
    let mut start = fields.number(4)?;
    let name = fields.bytes(lengths[0])?;
    let Ok(name) = std::str::from_utf8(name) else {
        bail!(Io, "expected names in UTF-8, got {:?}", String::from_utf8_lossy(name));
    };
    let mut extra = Fields(fields.bytes(lengths[1])?);
    fields.bytes(lengths[2])?;
    while extra.0.len() >= 4 {
        let (kind, n) = (extra.number(2)?, extra.number(2)? as usize);
        let mut extra = Fields(extra.bytes(n)?);
        if kind == u64::from(EXTRA_64) {
            // Only those numbers are there that have no room elsewhere.
            for number in [&mut size, &mut compressed, &mut start] {
                if *number == u64::from(u32::MAX) {
                    *number = extra.number(8)?;
                }
            }
        }
    }
    if flags & 1 != 0 {
        bail!(Io, "expected members that are not encrypted, got `{name}`");
    }
    if method != STORED && method != DEFLATED {
        bail!(Io, "expected members that are stored or deflated, got `{name}`, which is compressed by method {method}");
    }
    Ok(Member { name: name.to_string(), size, method, crc, compressed, start })
}

/// Runs `f` on the contents of a member, and checks what it has read.
pub(super) fn read<R: Read + Seek, T>(
    source: &mut R,
    member: &Member,
    f: &mut dyn FnMut(&mut dyn Read) -> Result<T>,
) -> Result<T> {
    let local = bytes_at(source, member.start, 30).context(|| "the entry of the member".into())?;
    let mut local = Fields(&local);
    if local.number(4)? != u64::from(LOCAL) {
        bail!(Io, "expected a member where the directory says, got something else");
    }
    local.bytes(22)?;
    let skipped = local.number(2)? + local.number(2)?;
    source.seek_relative(skipped as i64).map_err(cut_off)?;
    let data = source.take(member.compressed);
    match member.method {
        STORED => checked(data, member, f),
        _ => checked(DeflateDecoder::new(data), member, f),
    }
}

fn checked<T>(source: impl Read, member: &Member, f: &mut dyn FnMut(&mut dyn Read) -> Result<T>) -> Result<T> {
    struct Summed<R>(R, Crc);
    impl<R: Read> Read for Summed<R> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.0.read(out)?;
            self.1.update(&out[..n]);
            Ok(n)
        }
    }
    let mut source = Summed(source, Crc::new());
    let out = f(&mut source)?;
    let more = source.read(&mut [0]).map_err(cut_off)?;
    if more != 0 || source.1.sum() != member.crc {
        let (want, got) = (member.crc, source.1.sum());
        let message = match more {
            0 => format!("expected the checksum {want:08x}, got {got:08x}"),
            _ => format!("expected {} bytes, got more", member.size),
        };
        return Err(Error::new(ErrorKind::Io, message).with_help("the file is damaged"));
    }
    Ok(out)
}

/// What hands its contents over piece by piece.
type Contents<'a> = &'a dyn Fn(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()>;

/// Writes an archive from its beginning to its end.
pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    at: u64,
    directory: Vec<u8>,
    count: u64,
}

/// The number in a field of 32 bits: if it does not fit, all bits are set, and it stands elsewhere.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Writer<'a> {
        Writer { out, at: 0, directory: Vec::new(), count: 0 }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Adds a member. Its contents are asked for twice, because their checksum stands before them.
    pub(super) fn add(&mut self, name: &str, compress: bool, contents: Contents) -> io::Result<()> {
        let (mut crc, mut size) = (Crc::new(), 0u64);
        let mut deflated = compress.then(|| DeflateEncoder::new(Vec::new(), Compression::default()));
        contents(&mut |part| {
            crc.update(part);
            size += part.len() as u64;
            deflated.as_mut().map_or(Ok(()), |d| d.write_all(part))
        })?;
        let deflated = deflated.map(DeflateEncoder::finish).transpose()?;
        let compressed = deflated.as_ref().map_or(size, |d| d.len() as u64);
        let (start, large) = (self.at, [size, compressed, self.at].iter().any(|&n| n >= u64::from(u32::MAX)));
        // All three are given at length if one must be, which readers accept.
        let short = |n: u64| if large { u32::MAX } else { narrow(n) };
        let mut extra = Vec::new();
        if large {
            extra.extend(EXTRA_64.to_le_bytes());
            extra.extend(24u16.to_le_bytes());
            extra.extend([size, compressed, start].iter().flat_map(|n| n.to_le_bytes()));
        }
        let mut common = Vec::new();
        let version = if large { 45u16 } else { 20 };
        // Bit 11 says that names are UTF-8. The time is the first that the format has, so that files do not differ by it.
        for field in [version, 1 << 11, if compress { DEFLATED } else { STORED }, 0, 33] {
            common.extend(field.to_le_bytes());
        }
        for field in [crc.sum(), short(compressed), short(size)] {
            common.extend(field.to_le_bytes());
        }
        for field in [name.len() as u16, extra.len() as u16] {
            common.extend(field.to_le_bytes());
        }
        self.write(&[&LOCAL.to_le_bytes(), &common[..], name.as_bytes(), &extra].concat())?;
        match deflated {
            Some(data) => self.write(&data)?,
            None => contents(&mut |part| self.write(part))?,
        }
        self.directory.extend(CENTRAL.to_le_bytes());
        self.directory.extend(version.to_le_bytes());
        self.directory.extend(&common);
        self.directory.extend([0; 10]);
        self.directory.extend(short(start).to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.directory.extend(&extra);
        self.count += 1;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        let (start, directory) = (self.at, std::mem::take(&mut self.directory));
        let (size, count) = (directory.len() as u64, self.count);
        self.write(&directory)?;
        if [start, size].iter().any(|&n| n >= u64::from(u32::MAX)) || count >= u64::from(u16::MAX) {
            let (at, mut record) = (self.at, END_64.to_le_bytes().to_vec());
            record.extend(44u64.to_le_bytes());
            record.extend([45, 0, 45, 0]);
            record.extend([0; 8]);
            record.extend([count, count, size, start].iter().flat_map(|n| n.to_le_bytes()));
            record.extend(LOCATOR_64.to_le_bytes());
            record.extend([0; 4]);
            record.extend(at.to_le_bytes());
            record.extend(1u32.to_le_bytes());
            self.write(&record)?;
        }
        let mut end = END.to_le_bytes().to_vec();
        end.extend([0; 4]);
        let count = u16::try_from(count).unwrap_or(u16::MAX);
        end.extend([count, count].iter().flat_map(|n| n.to_le_bytes()));
        end.extend([narrow(size), narrow(start)].iter().flat_map(|n| n.to_le_bytes()));
        end.extend([0; 2]);
        self.write(&end)
    }
}
