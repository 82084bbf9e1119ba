"""Files of tensors."""

import numpy as np
import pytest

import pullback as pb
from pullback import io


def test_safetensors_keep_names_dtypes_and_text(tmp_path):
    path = tmp_path / "a.safetensors"
    model = {
        "weight": pb.tensor([[1.0, 2.0]], requires_grad=True),
        "layers": [{"bias": pb.tensor([1, 2])}, (pb.zeros(2, dtype=pb.bfloat16),)],
        "array": np.ones(2),
    }
    io.save_safetensors(model, path, {"format": "pt"})
    again = io.load_safetensors(path)
    assert list(again) == ["array", "layers.0.bias", "layers.1.0", "weight"]
    assert again["weight"].tolist() == [[1.0, 2.0]] and not again["weight"].requires_grad
    assert again["layers.1.0"].dtype is pb.bfloat16 and again["array"].dtype is pb.float64
    assert io.load_safetensors_metadata(path) == {"format": "pt"}


def test_safetensors_of_other_dtypes_leave_the_rest_readable(tmp_path):
    path = tmp_path / "mixed.safetensors"
    header = (
        b'{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"q":{"dtype":"I16","shape":[2],"data_offsets":[4,8]},'
        b'"b":{"dtype":"U8","shape":[],"data_offsets":[8,9]}}'
    )
    path.write_bytes(len(header).to_bytes(8, "little") + header + np.float32(1.5).tobytes() + bytes([0, 0, 0, 0, 7]))
    with pytest.raises(TypeError, match=r"for `q`, got `I16`; help: read the others with `load_safetensors\(path, strict=False\)`"):
        io.load(path)
    assert {k: v.tolist() for k, v in io.load_safetensors(path, strict=False).items()} == {"b": 7, "w": [1.5]}
    assert list(io.load_safetensors(path, ["w"])) == ["w"]
    assert io.load_safetensors_metadata(path) == {}
    with pytest.raises(TypeError, match="`q`"):
        io.load_safetensors(path, ["q", "w"])
    with pytest.raises(ValueError, match="got `x`"):
        io.load_safetensors(path, ["x"], strict=False)


def test_npz_and_npy_are_those_of_numpy(tmp_path):
    io.save_npz({"a": pb.tensor([1.0, 2.0]), "b": pb.tensor(3)}, tmp_path / "x.npz", compressed=True)
    with np.load(tmp_path / "x.npz") as arrays:
        assert arrays["a"].tolist() == [1.0, 2.0] and arrays["b"] == 3
    np.savez(tmp_path / "y.npz", a=np.arange(3), b=np.eye(2))
    assert {k: v.tolist() for k, v in io.load(tmp_path / "y.npz").items()} == {"a": [0, 1, 2], "b": [[1.0, 0.0], [0.0, 1.0]]}
    io.save(pb.eye(2).T, str(tmp_path / "z.npy"))
    assert np.load(tmp_path / "z.npy").tolist() == [[1.0, 0.0], [0.0, 1.0]] == io.load(tmp_path / "z.npy").tolist()


def test_what_cannot_be_saved_or_read_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.npz"):
        io.load(tmp_path / "nothing.npz")
    (tmp_path / "bad.safetensors").write_bytes(b"not a file of tensors")
    with pytest.raises(OSError, match="bad.safetensors"):
        io.load(tmp_path / "bad.safetensors")
    for broken, error in (
        (lambda: io.load(tmp_path / "a.txt"), ValueError),
        (lambda: io.save(pb.ones(1), tmp_path / "a.npz"), TypeError),
        (lambda: io.save({"a": 1}, tmp_path / "a.npy"), TypeError),
        (lambda: io.save({1: pb.ones(1)}, tmp_path / "a.npz"), TypeError),
        (lambda: io.save({"a": "text"}, tmp_path / "a.npz"), TypeError),
        (lambda: io.save({"a.0": pb.ones(1), "a": [pb.ones(1)]}, tmp_path / "a.npz"), ValueError),
    ):
        with pytest.raises(error):
            broken()
    assert not (tmp_path / "a.npz").exists()
    endless = {}
    endless["a"] = endless
    with pytest.raises(ValueError, match="contain themselves"):
        io.save(endless, tmp_path / "a.npz")


def test_values_inside_vmap_are_not_saved(tmp_path):
    with pytest.raises(RuntimeError):
        pb.func.vmap(lambda x: io.save({"a": x}, tmp_path / "a.npz") or x)(pb.ones(2))


def test_names_of_files_are_text_bytes_or_paths(tmp_path):
    x = pb.tensor([1.0, 2.0])
    names = [tmp_path / "a.npy", str(tmp_path / "b.npy"), bytes(tmp_path / "c.npy")]
    for name in names:
        io.save(x, name)
        assert io.load(name).tolist() == [1.0, 2.0]
    for load in (io.load, io.load_npy, io.load_npz, io.load_safetensors):
        with pytest.raises(TypeError, match=f"{load.__name__}: expected a file name as str, bytes or path, got NoneType"):
            load(None)
        with pytest.raises(ValueError, match=f"{load.__name__}: expected a file name that the system can have"):
            load("a\ud800.npy")
    with pytest.raises(FileNotFoundError):
        io.load("nowhere\udcff.npy")


def test_names_of_tensors_are_text(tmp_path):
    for tensors, place in [({"": pb.ones(1)}, "''"), ({"a": {"\ud800": pb.ones(1)}}, "in `a`")]:
        with pytest.raises(ValueError, match=f"save: expected names as keys that are not empty.*{place}"):
            io.save(tensors, tmp_path / "q.npz")
