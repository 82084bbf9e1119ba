//! The forms of an operation: ways to call it with arguments whose types are known at run time.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Error, GenericArgument, Ident, Lit, LitBool, LitInt, PathArguments, ReturnType, Token, Type, TypeParamBound,
    bracketed, parenthesized,
};

/// A row of the table: what kind of function it declares, and the forms that it names.
///
/// `method sum_dims(dims: &[isize], keepdim: bool) -> Result<Tensor> [sum(dims = [], keepdim)]`, and behind it `in_place true` where the
/// result can have the type of the tensor.
struct Row {
    is_method: bool,
    name: Ident,
    parameters: Vec<(Ident, Type)>,
    result: Type,
    forms: Vec<Written>,
    /// Whether the result can have the type of the tensor whose method it is.
    in_place: bool,
}

/// A form as it is written: `linalg::norm(p as ord = 2.0, *dims) -> (values, indices)`.
struct Written {
    path: Vec<String>,
    parameters: Vec<WrittenParameter>,
    results: Vec<String>,
    /// The places of the results that it returns, if not all.
    picked: Vec<usize>,
}

struct WrittenParameter {
    is_variadic: bool,
    /// Whether it only tells forms apart: the operation has no such parameter.
    is_extra: bool,
    name: Ident,
    other_name: Option<Ident>,
    /// The type that it is taken as, which the one of the operation is made of.
    ty: Option<Type>,
    default: Option<TokenStream>,
}

impl WrittenParameter {
    fn new(name: Ident) -> WrittenParameter {
        WrittenParameter { is_variadic: false, is_extra: false, name, other_name: None, ty: None, default: None }
    }
}

fn ident(input: ParseStream) -> Result<Ident, Error> {
    input.call(Ident::parse_any)
}

impl Parse for Row {
    fn parse(input: ParseStream) -> Result<Row, Error> {
        let is_method = ident(input)? == "method";
        let name = ident(input)?;
        let inner;
        parenthesized!(inner in input);
        let one = |input: ParseStream| {
            let name = ident(input)?;
            input.parse::<Token![:]>()?;
            Ok((name, input.parse()?))
        };
        let parameters = Punctuated::<(Ident, Type), Token![,]>::parse_terminated_with(&inner, one)?;
        let ReturnType::Type(_, result) = input.parse()? else { return Err(input.error("expected a type")) };
        let inner;
        bracketed!(inner in input);
        let forms = Punctuated::<Written, Token![,]>::parse_terminated(&inner)?;
        let in_place = match input.parse::<Option<Ident>>()? {
            Some(word) if word == "in_place" => input.parse::<LitBool>()?.value,
            Some(word) => return Err(Error::new(word.span(), "expected `in_place`")),
            None => false,
        };
        let parameters = parameters.into_iter().collect();
        Ok(Row { is_method, name, parameters, result: *result, forms: forms.into_iter().collect(), in_place })
    }
}

impl Parse for Written {
    fn parse(input: ParseStream) -> Result<Written, Error> {
        let mut path = vec![ident(input)?.unraw().to_string()];
        while input.parse::<Option<Token![::]>>()?.is_some() {
            path.push(ident(input)?.unraw().to_string());
        }
        let inner;
        parenthesized!(inner in input);
        let parameters = Punctuated::<WrittenParameter, Token![,]>::parse_terminated(&inner)?;
        let (mut results, mut picked) = (vec![], vec![]);
        if input.parse::<Option<Token![->]>>()?.is_some() {
            let inner;
            parenthesized!(inner in input);
            if inner.peek(LitInt) {
                let places = Punctuated::<LitInt, Token![,]>::parse_terminated(&inner)?;
                picked = places.iter().map(LitInt::base10_parse).collect::<Result<_, _>>()?;
            } else {
                let names = Punctuated::<Ident, Token![,]>::parse_terminated_with(&inner, ident)?;
                results = names.iter().map(Ident::to_string).collect();
            }
        }
        Ok(Written { path, parameters: parameters.into_iter().collect(), results, picked })
    }
}

impl Parse for WrittenParameter {
    fn parse(input: ParseStream) -> Result<WrittenParameter, Error> {
        let is_variadic = input.parse::<Option<Token![*]>>()?.is_some();
        let is_extra = input.parse::<Option<Token![+]>>()?.is_some();
        let name = ident(input)?;
        let other_name = match input.parse::<Option<Token![as]>>()? {
            Some(_) => Some(ident(input)?),
            None => None,
        };
        let ty = match input.parse::<Option<Token![:]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        let default = match input.parse::<Option<Token![=]>>()? {
            Some(_) => Some(literal(input)?),
            None => None,
        };
        Ok(WrittenParameter { is_variadic, is_extra, name, other_name, ty, default })
    }
}

/// A default as a `Literal`.
fn literal(input: ParseStream) -> Result<TokenStream, Error> {
    if input.peek(syn::token::Bracket) {
        let inner;
        bracketed!(inner in input);
        let all: TokenStream = inner.parse()?;
        return Ok(quote!(Literal::Ints(&[#all])));
    }
    if let Some(dtype) = input.parse::<Option<Ident>>()? {
        return Ok(quote!(Literal::DType(crate::DType::#dtype)));
    }
    let minus = input.parse::<Option<Token![-]>>()?;
    Ok(match input.parse()? {
        Lit::Str(s) => quote!(Literal::Name(#s)),
        Lit::Int(n) => quote!(Literal::Int(#minus #n)),
        Lit::Float(x) => quote!(Literal::Float(#minus #x)),
        Lit::Bool(b) => quote!(Literal::Bool(#b)),
        other => return Err(Error::new(other.span(), "expected a literal")),
    })
}

/// A parameter type without the groups that macros put around it.
fn ungroup(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungroup(&group.elem),
        Type::Paren(paren) => ungroup(&paren.elem),
        ty => ty,
    }
}

/// The name and the only argument of a type like `Option<T>`.
fn generic(path: &syn::Path) -> Option<(String, Option<&Type>)> {
    let last = path.segments.last()?;
    let argument = match &last.arguments {
        PathArguments::AngleBracketed(all) => match all.args.first() {
            Some(GenericArgument::Type(ty)) => Some(ungroup(ty)),
            _ => None,
        },
        _ => None,
    };
    Some((last.ident.to_string(), argument))
}

/// The type that an argument is converted to, and how a variable `v` of that type is passed on.
fn conversion(ty: &Type, v: &Ident) -> Result<(TokenStream, TokenStream), Error> {
    let ty = ungroup(ty);
    let unknown = || Error::new_spanned(ty, "operations called by name know no such type of parameters");
    let several = quote!(::smallvec::SmallVec);
    Ok(match ty {
        Type::Reference(reference) => match ungroup(&reference.elem) {
            Type::Slice(slice) => match ungroup(&slice.elem) {
                Type::Reference(_) => (quote!(Vec<Tensor>), quote!(&#v.iter().collect::<#several<[&Tensor; 8]>>())),
                element => (quote!(#several<[#element; 4]>), quote!(&#v)),
            },
            Type::Path(path) if path.path.is_ident("str") => (quote!(String), quote!(&#v)),
            other => (quote!(#other), quote!(&#v)),
        },
        Type::ImplTrait(all) => {
            let Some(TypeParamBound::Trait(bound)) = all.bounds.first() else { return Err(unknown()) };
            match generic(&bound.path) {
                Some((name, _)) if name == "Operand" => (quote!(AnyOperand), quote!(#v)),
                Some((name, _)) if name == "Indices" => (quote!(Vec<crate::IndexItem>), quote!(#v)),
                Some((name, Some(target))) if name == "Into" => (quote!(#target), quote!(#v)),
                _ => return Err(unknown()),
            }
        }
        Type::Path(path) => match generic(&path.path) {
            Some((name, Some(Type::Reference(reference)))) if name == "Option" => match ungroup(&reference.elem) {
                Type::Slice(slice) => {
                    let element = &slice.elem;
                    (quote!(Option<#several<[#element; 4]>>), quote!(#v.as_deref()))
                }
                other => (quote!(Option<#other>), quote!(#v.as_ref())),
            },
            _ => (quote!(#path), quote!(#v)),
        },
        Type::Array(_) => (quote!(#ty), quote!(#v)),
        _ => return Err(unknown()),
    })
}

/// What a form returns: `Result<Tensor>`, a tuple or a list.
fn results(row: &Row, names: &[String]) -> Result<TokenStream, Error> {
    let unknown = || Error::new_spanned(&row.result, "operations called by name return no such type");
    let Type::Path(path) = ungroup(&row.result) else { return Err(unknown()) };
    Ok(match generic(&path.path) {
        Some((_, Some(Type::Tuple(tuple)))) => {
            let n = tuple.elems.len();
            if !names.is_empty() && names.len() != n {
                return Err(Error::new(row.name.span(), format!("expected {n} names of results")));
            }
            quote!(Results::Several(#n, &[#(#names),*]))
        }
        Some((_, Some(Type::Path(path)))) => match generic(&path.path) {
            Some((name, None)) if name == "Tensor" && names.is_empty() => quote!(Results::One),
            Some((name, None)) if name == "Tensor" => quote!(Results::Several(1, &[#(#names),*])),
            Some((name, None)) if name == "bool" => quote!(Results::Bool),
            Some((name, Some(_))) if name == "Vec" => quote!(Results::List),
            _ => return Err(unknown()),
        },
        _ => return Err(unknown()),
    })
}

/// A parameter of a form.
struct Bound<'a> {
    name: String,
    written: &'a WrittenParameter,
    role: Role,
}

/// What a parameter of a form is to the operation.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    /// The tensor whose method it is.
    Receiver,
    /// The parameter at this place.
    Parameter(usize),
    /// The dtype that the tensor is converted to first.
    DType,
    /// Nothing: it tells forms apart.
    Extra,
}

impl Row {
    /// The form that a row has which names none: its own name and parameters.
    fn plain(&self) -> Written {
        // Rust has no overloading: what differs in its parameters has a longer name there.
        let name = self.name.unraw().to_string();
        let name = ["_dims", "_dim", "_with", "_"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        let is_dims = self.name.to_string().ends_with("_dims");
        let parameter = |(parameter, _): &(Ident, Type)| WrittenParameter {
            default: match parameter.to_string().as_str() {
                // No dims are all of them.
                "dims" if is_dims => Some(quote!(Literal::Ints(&[]))),
                // A single random number, in the default float.
                "shape" if self.is_draw() => Some(quote!(Literal::Ints(&[]))),
                "dtype" if self.is_draw() => Some(quote!(Literal::DType(crate::DType::F32))),
                _ => None,
            },
            ..WrittenParameter::new(parameter.clone())
        };
        Written {
            path: vec![name.to_owned()],
            parameters: self.parameters.iter().map(parameter).collect(),
            results: vec![],
            picked: vec![],
        }
    }

    /// Whether the row draws random numbers: what it draws them from comes first.
    fn is_draw(&self) -> bool {
        self.parameters.first().is_some_and(|(name, _)| name == "from")
    }

    /// The name that a parameter has in the forms unless they give it one.
    fn usual_name(rust: &Ident) -> String {
        match rust.unraw().to_string().as_str() {
            "rhs" => "other".to_owned(),
            "dims" => "dim".to_owned(),
            "from" => "key".to_owned(),
            name => name.trim_start_matches('_').to_owned(),
        }
    }

    /// Whether it is an operation of two operands and nothing else, the first of which may be a number as well.
    fn has_two_operands(&self) -> bool {
        self.is_method && matches!(&self.parameters[..], [(_, ty)] if is_impl(ty, "Operand"))
    }

    /// The parameters of a form, the tensor whose method it is among them.
    fn bound<'a>(&self, form: &'a Written, implied: &'a WrittenParameter) -> Result<Vec<Bound<'a>>, Error> {
        let mut all: Vec<Bound> = vec![];
        for (k, written) in form.parameters.iter().enumerate() {
            let role = match self.parameters.iter().position(|p| p.0 == written.name) {
                _ if written.is_extra => Role::Extra,
                Some(place) => Role::Parameter(place),
                None if self.is_method && written.name == "self" => Role::Receiver,
                None if self.is_method && written.name == "dtype" => Role::DType,
                None => return Err(Error::new(written.name.span(), "the operation has no such parameter")),
            };
            let mut name = written
                .other_name
                .as_ref()
                .map_or_else(|| Row::usual_name(&written.name), |name| name.unraw().to_string());
            if k == 0 && name == "self" {
                name = "input".to_owned();
            }
            all.push(Bound { name, written, role });
        }
        if self.is_method && all.iter().all(|b| b.role != Role::Receiver) {
            all.insert(0, Bound { name: "input".to_owned(), written: implied, role: Role::Receiver });
        }
        Ok(all)
    }

    fn form(&self, form: &Written) -> Result<TokenStream, Error> {
        let implied = WrittenParameter::new(Ident::new("self", Span::call_site()));
        let bound = self.bound(form, &implied)?;
        let of = |role: Role| bound.iter().position(|b| b.role == role);
        let receiver = of(Role::Receiver);
        // The first place says it, where it is written.
        let only_method = form.parameters.first().is_some_and(|p| p.other_name.as_ref().unwrap_or(&p.name) == "self");
        let is_function = !only_method;
        let mut path = &form.path[..];
        if path[0] == "function" {
            path = &path[1..];
        }
        let is_method = (only_method || self.is_method) && form.path.len() == 1 && (only_method || receiver == Some(0));

        let variables: Vec<Ident> = (0..bound.len()).map(|k| format_ident!("argument_{k}")).collect();
        let mut describe = vec![];
        let mut take = vec![];
        let mut passed = vec![None; self.parameters.len()];
        for (b, v) in bound.iter().zip(&variables) {
            let name = &b.name;
            let (ty, pass) = match (&b.written.ty, b.role) {
                (Some(ty), _) => (quote!(#ty), quote!(#v.into())),
                (None, Role::Parameter(place)) => conversion(&self.parameters[place].1, v)?,
                (None, Role::DType) => (quote!(Option<crate::DType>), quote!(#v)),
                (None, Role::Receiver) if self.has_two_operands() => (quote!(AnyOperand), quote!(#v)),
                (None, Role::Receiver) => (quote!(Tensor), quote!(#v)),
                (None, Role::Extra) => return Err(Error::new(b.written.name.span(), "expected a type")),
            };
            let default = match &b.written.default {
                Some(literal) => quote!(Some(#literal)),
                // A dimension that is kept is the exception everywhere.
                None if name == "keepdim" => quote!(Some(Literal::Bool(false))),
                None => quote!(None),
            };
            describe.push(quote!(<#ty as Argument>::describe(&mut all, #name, #default);));
            if b.written.is_variadic {
                describe.push(quote!(if let Some(last) = all.last_mut() {
                    last.is_variadic = true;
                }));
            }
            let v = if b.role == Role::Extra { quote!(_) } else { quote!(#v) };
            take.push(quote!(let #v = <#ty as Argument>::take(arguments, #name, #default)?;));
            if let Role::Parameter(place) = b.role {
                passed[place] = Some(pass);
            }
        }
        if let Some(k) = passed.iter().position(Option::is_none) {
            let name = &self.parameters[k].0;
            return Err(Error::new(name.span(), format!("the form `{}` does not name `{name}`", form.path.join("."))));
        }
        let name = &self.name;
        let rust = name.unraw().to_string();
        let (last, namespace) = path.split_last().expect("a path has a part");
        let namespace = namespace.join(".");
        let dtype = of(Role::DType).map(|k| &variables[k]);
        let mut call = match receiver.map(|k| &variables[k]) {
            Some(me) => {
                if let (true, Some(rhs)) = (self.has_two_operands(), of(Role::Parameter(0)).map(|k| &variables[k])) {
                    take.push(quote!(let (#me, #rhs) = AnyOperand::two(#last, #me, #rhs)?;));
                }
                if let Some(dtype) = dtype {
                    take.push(quote!(let #me = crate::ops::dynamic::converted(#me, #dtype)?;));
                }
                quote!(Tensor::#name(&#me, #(#passed),*))
            }
            None => quote!(#name(#(#passed),*)),
        };
        if rust != *last {
            call = quote!(#call.map_err(|e| e.renamed(#rust, #last)));
        }
        call = quote!(#call?);
        if let Some(dtype) = dtype {
            call = quote!(crate::ops::dynamic::of_dtype(#last, #call, #dtype)?);
        }
        let mut results = results(self, &form.results)?;
        let mut outcome = quote!(Outcome::from(#call));
        if !form.picked.is_empty() {
            let (picked, n) = (&form.picked, form.picked.len());
            results = if n == 1 { quote!(Results::One) } else { quote!(Results::Several(#n, &[])) };
            outcome = quote!(#outcome.pick(&[#(#picked),*]));
        }
        // The places of the parameters in Rust, where the tensor itself is the first.
        let order = bound.iter().map(|b| match b.role {
            Role::Receiver => 0,
            Role::Parameter(place) => 1 + place,
            Role::DType | Role::Extra => usize::MAX,
        });
        let keeps_order = order.is_sorted();
        let renamed =
            bound.iter().filter(|b| matches!(b.role, Role::Parameter(_)) && b.written.name != b.name.as_str());
        let renamed = renamed.map(|b| {
            let (rust, other) = (b.written.name.unraw().to_string(), &b.name);
            quote!((#rust, #other))
        });
        let renamed = quote!(&[#(#renamed),*]);
        let in_place = self.in_place && is_method;
        Ok(quote!(Form {
            name: #last,
            namespace: #namespace,
            is_function: #is_function,
            is_method: #is_method,
            in_place: #in_place,
            keeps_order: #keeps_order,
            renamed: #renamed,
            parameters: || {
                let mut all = Vec::new();
                #(#describe)*
                all
            },
            results: #results,
            call: |arguments| {
                #(#take)*
                Ok(#outcome)
            },
        }))
    }
}

/// Whether a type is `impl Bound`, with or without arguments of the bound.
fn is_impl(ty: &Type, bound: &str) -> bool {
    let Type::ImplTrait(all) = ungroup(ty) else { return false };
    let Some(TypeParamBound::Trait(first)) = all.bounds.first() else { return false };
    first.path.segments.last().is_some_and(|s| s.ident == bound)
}

pub fn expand(input: TokenStream) -> Result<TokenStream, Error> {
    let mut row: Row = syn::parse2(input)?;
    // What an index is, is a matter of each language, unless a form takes it as tensors.
    let of_indices = |(_, ty): &(Ident, Type)| is_impl(ty, "Indices");
    if row.forms.is_empty() && row.parameters.iter().any(of_indices) {
        return Ok(quote!(&[]));
    }
    if row.forms.is_empty() {
        row.forms.push(row.plain());
    }
    let forms = row.forms.iter().map(|form| row.form(form)).collect::<Result<Vec<_>, _>>()?;
    Ok(quote!({
        #[allow(unused_imports)]
        use crate::{
            Tensor,
            ops::dynamic::{AnyOperand, Argument, Exactly, Form, Literal, NamedNorm, AddOrMultiply, Outcome, Results, Unbiased},
        };
        &[#(#forms),*]
    }))
}
