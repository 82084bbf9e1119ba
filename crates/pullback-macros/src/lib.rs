//! `derive(Tree)` for `pullback`, and what its table of operations is written with.

mod forms;

use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{
    Data, DeriveInput, Error, Fields, GenericParam, Ident, Index, Member, Type, TypeParamBound, WherePredicate,
    parse_macro_input, parse_quote,
};

/// Implements `pullback::Tree` for a struct whose tensors are given by a type parameter, and `pullback::DimSpec` for
/// the same struct of batch dims.
///
/// The struct has exactly one type parameter, its leaf, which should default to `Tensor`; it may have const
/// parameters besides. Fields whose type names the leaf (`T`, `Vec<T>`, `Layer<T>`, `Option<(T, T)>`) are subtrees;
/// every other field must be marked `#[tree(static)]`, is copied along, and must be `Clone + Send + Sync`. The struct
/// must be `Clone`. Named fields, tuple structs and structs without fields all work; enums do not.
#[proc_macro_derive(Tree, attributes(tree))]
pub fn derive_tree(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// The forms of a row of the table of operations in `pullback`.
#[doc(hidden)]
#[proc_macro]
pub fn operation_forms(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    forms::expand(input.into()).unwrap_or_else(Error::into_compile_error).into()
}

struct Field<'a> {
    member: Member,
    ty: &'a Type,
    is_static: bool,
    label: String,
}

fn expand(input: &DeriveInput) -> Result<TokenStream, Error> {
    let data = match &input.data {
        Data::Struct(data) => data,
        Data::Enum(data) => {
            return Err(Error::new(
                data.enum_token.span(),
                "derive(Tree) works on structs: the leaves of an enum would depend on its value; use a struct with \
                 `Option` fields",
            ));
        }
        Data::Union(data) => return Err(Error::new(data.union_token.span(), "derive(Tree) works on structs")),
    };
    let generics = Generics::of(input)?;
    let leaf = &generics.leaf;
    let fields = fields(&data.fields, leaf)?;
    let name = &input.ident;
    // Written at the field's type, so that the compiler points there if it is no tree.
    let tree_of = |f: &Field| {
        let ty = f.ty;
        quote_spanned!(ty.span()=> <#ty as ::pullback::Tree>)
    };
    let build = |of: &dyn Fn(&Field) -> TokenStream, from: TokenStream| {
        let values = fields.iter().map(|f| {
            let member = &f.member;
            let value = if f.is_static { quote!(::core::clone::Clone::clone(&#from.#member)) } else { of(f) };
            quote!(#member: #value)
        });
        quote!(#name { #(#values),* })
    };
    let subtrees = |of: &dyn Fn(&Member, TokenStream) -> TokenStream| -> TokenStream {
        fields.iter().filter(|f| !f.is_static).map(|f| of(&f.member, tree_of(f))).collect()
    };
    let member = |f: &Field| (f.member.clone(), tree_of(f));
    let map = build(
        &|f| {
            let (m, tree) = member(f);
            quote!(#tree::map(&self.#m, f))
        },
        quote!(self),
    );
    let map_mapped = build(
        &|f| {
            let (m, tree) = member(f);
            quote!(#tree::map_mapped(&mapped.#m, f))
        },
        quote!(mapped),
    );
    let from_mapped = build(
        &|f| {
            let (m, tree) = member(f);
            quote!(#tree::from_mapped(&mapped.#m, f))
        },
        quote!(mapped),
    );
    let visit = subtrees(&|m, tree| quote!(#tree::visit(&self.#m, f);));
    let visit_mapped = subtrees(&|m, tree| quote!(#tree::visit_mapped(&mapped.#m, f);));
    let statics: TokenStream = fields
        .iter()
        .map(|f| {
            let (m, tree) = member(f);
            if f.is_static { quote!(f(&self.#m);) } else { quote!(#tree::visit_statics(&self.#m, f);) }
        })
        .collect();
    let paths: TokenStream = fields
        .iter()
        .filter(|f| !f.is_static)
        .map(|f| {
            let ((m, tree), suffix) = (member(f), format!(".{}", f.label));
            quote! {
                let len = path.len();
                path.push_str(#suffix);
                #tree::visit_paths(&self.#m, path, f);
                path.truncate(len);
            }
        })
        .collect();
    let describe = describe(name, &data.fields, &fields, &tree_of);

    let (tree, leaf_of_leaf) = (quote!(::pullback::Tree), quote!(<#leaf as ::pullback::Tree>::Mapped<Leaf__>));
    let (parameters, conditions) = generics.with_bounds(leaf, &quote!(::pullback::Tree));
    let (this, mapped) = (generics.applied(name, &quote!(#leaf)), generics.applied(name, &leaf_of_leaf));
    let dims = dim_spec(name, &data.fields, &generics, &fields);
    Ok(quote! {
        #[automatically_derived]
        impl<#parameters> #tree for #this #conditions {
            type Mapped<Leaf__: ::pullback::Leaf> = #mapped;

            fn map<Leaf__: ::pullback::Leaf>(&self, f: &mut dyn FnMut(&::pullback::Tensor) -> Leaf__) -> Self::Mapped<Leaf__> {
                let _ = &f;
                #map
            }
            fn map_mapped<Leaf__: ::pullback::Leaf, Other__: ::pullback::Leaf>(
                mapped: &Self::Mapped<Leaf__>,
                f: &mut dyn FnMut(&Leaf__) -> Other__,
            ) -> Self::Mapped<Other__> {
                let _ = (&mapped, &f);
                #map_mapped
            }
            fn from_mapped<Leaf__: ::pullback::Leaf>(
                mapped: &Self::Mapped<Leaf__>,
                f: &mut dyn FnMut(&Leaf__) -> ::pullback::Tensor,
            ) -> Self {
                let _ = (&mapped, &f);
                #from_mapped
            }
            fn visit<'tree__>(&'tree__ self, f: &mut dyn FnMut(&'tree__ ::pullback::Tensor)) {
                let _ = &f;
                #visit
            }
            fn visit_mapped<'tree__, Leaf__: ::pullback::Leaf>(
                mapped: &'tree__ Self::Mapped<Leaf__>,
                f: &mut dyn FnMut(&'tree__ Leaf__),
            ) {
                let _ = (&mapped, &f);
                #visit_mapped
            }
            fn visit_paths(&self, path: &mut ::std::string::String, f: &mut dyn FnMut(&str)) {
                let _ = (&path, &f);
                #paths
            }
            fn visit_statics(&self, f: &mut dyn FnMut(&dyn ::core::any::Any)) {
                let _ = &f;
                #statics
            }
            fn describe(&self) -> ::std::string::String {
                #describe
            }
        }
        #dims
    })
}

/// `Line { slope: tensor, offset: none }`, `Pair(tensor, tensor)`, `Nothing`.
fn describe(name: &Ident, shape: &Fields, fields: &[Field], tree_of: &dyn Fn(&Field) -> TokenStream) -> TokenStream {
    let (open, close) = match shape {
        Fields::Named(_) => (" { ", " }"),
        Fields::Unnamed(_) => ("(", ")"),
        Fields::Unit => ("", ""),
    };
    let mut text = format!("{name}{open}");
    let mut pieces = Vec::new();
    for (k, f) in fields.iter().enumerate() {
        if k > 0 {
            text.push_str(", ");
        }
        if let Member::Named(_) = f.member {
            text.push_str(&format!("{}: ", f.label));
        }
        if f.is_static {
            text.push_str("static");
            continue;
        }
        let (m, tree) = (&f.member, tree_of(f));
        pieces.push(quote!(out.push_str(#text); out.push_str(&#tree::describe(&self.#m));));
        text.clear();
    }
    text.push_str(close);
    quote! {
        let mut out = ::std::string::String::new();
        #(#pieces)*
        out.push_str(#text);
        out
    }
}

/// `Mlp<D>` says where the lanes of an `Mlp` lie, field by field.
fn dim_spec(name: &Ident, shape: &Fields, generics: &Generics, fields: &[Field]) -> TokenStream {
    let (leaf, spec) = (&generics.leaf, format_ident!("Dims__", span = Span::call_site()));
    let (parameters, conditions) = generics.with_bounds(leaf, &quote!(::pullback::Tree));
    let bounds = generics.bounds.iter().map(|b| quote!(#spec: #b,));
    let mut conditions = if conditions.is_empty() { quote!(where) } else { quote!(#conditions,) };
    conditions.extend(bounds);
    let mut calls = Vec::new();
    for f in fields.iter().filter(|f| !f.is_static) {
        let (member, tree) = (&f.member, f.ty);
        let dims = substitute(f.ty, leaf, &spec);
        conditions.extend(quote!(#dims: ::pullback::DimSpec<#tree>,));
        calls.push(quote!(out.extend(::pullback::DimSpec::<#tree>::dims(&self.#member, &tree.#member)?);));
    }
    let description = describe(name, shape, fields, &|f: &Field| {
        let (tree, dims) = (f.ty, substitute(f.ty, leaf, &spec));
        quote!(<#dims as ::pullback::DimSpec<#tree>>)
    });
    let (tree, dims) = (generics.applied(name, &quote!(#leaf)), generics.applied(name, &quote!(#spec)));
    quote! {
        #[automatically_derived]
        impl<#parameters, #spec> ::pullback::DimSpec<#tree> for #dims #conditions {
            fn dims(&self, tree: &#tree) -> ::pullback::Result<::std::vec::Vec<::core::option::Option<isize>>> {
                let mut out = ::std::vec::Vec::new();
                let _ = tree;
                #(#calls)*
                ::core::result::Result::Ok(out)
            }
            fn describe(&self) -> ::std::string::String {
                #description
            }
        }
    }
}

/// The parameters of the struct.
struct Generics<'a> {
    leaf: Ident,
    /// What is required of the leaf, in its declaration or in the where-clause.
    bounds: Vec<&'a TypeParamBound>,
    all: &'a syn::Generics,
}

impl<'a> Generics<'a> {
    fn of(input: &'a DeriveInput) -> Result<Generics<'a>, Error> {
        let (name, all) = (&input.ident, &input.generics);
        if let Some(lifetime) = all.lifetimes().next() {
            return Err(Error::new(
                lifetime.span(),
                "derive(Tree) does not work on structs that borrow: a tree outlives the call that it is passed to; own \
                 the tensors, which are cheap handles",
            ));
        }
        let mut types = all.type_params();
        let Some(leaf) = types.next() else {
            return Err(Error::new(
                name.span(),
                format!(
                    "derive(Tree) needs a type parameter that stands for the tensors: write `struct {name}<T = \
                     Tensor>` and `T` in place of `Tensor`"
                ),
            ));
        };
        if let Some(other) = types.next() {
            return Err(Error::new(
                other.span(),
                format!(
                    "derive(Tree) takes one type parameter, which stands for the tensors, here `{}`; give `{}` as a \
                     type of its own",
                    leaf.ident, other.ident
                ),
            ));
        }
        let mut bounds: Vec<&TypeParamBound> = leaf.bounds.iter().collect();
        for predicate in all.where_clause.iter().flat_map(|w| &w.predicates) {
            match predicate {
                WherePredicate::Type(p) if leaf.ident == p.bounded_ty.to_token_stream().to_string() => {
                    bounds.extend(&p.bounds);
                }
                other if mentions(other, &leaf.ident) => return Err(unsupported_bound(other, &leaf.ident, name)),
                _ => {}
            }
        }
        for bound in &bounds {
            let known = match bound {
                TypeParamBound::Trait(b) => {
                    let last = b.path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
                    ["Clone", "Send", "Sync", "Leaf"].contains(&&*last)
                }
                TypeParamBound::Lifetime(l) => l.ident == "static",
                _ => false,
            };
            if !known {
                return Err(unsupported_bound(bound, &leaf.ident, name));
            }
        }
        Ok(Generics { leaf: leaf.ident.clone(), bounds, all })
    }

    /// The parameters of an impl in which the leaf is called `leaf` and implements `of`, and its where-clause.
    fn with_bounds(&self, leaf: &Ident, of: &TokenStream) -> (TokenStream, TokenStream) {
        let parameters = self.all.params.iter().map(|p| match p {
            GenericParam::Const(c) => {
                let (name, ty) = (&c.ident, &c.ty);
                quote!(const #name: #ty)
            }
            _ => {
                let bounds = &self.bounds;
                quote!(#leaf: #of #(+ #bounds)*)
            }
        });
        let others: Vec<_> =
            self.all.where_clause.iter().flat_map(|w| &w.predicates).filter(|p| !mentions(p, &self.leaf)).collect();
        let conditions = if others.is_empty() { quote!() } else { quote!(where #(#others),*) };
        (quote!(#(#parameters),*), conditions)
    }

    /// The struct with `leaf` in the place of its leaf.
    fn applied(&self, name: &Ident, leaf: &TokenStream) -> TokenStream {
        let arguments = self.all.params.iter().map(|p| match p {
            GenericParam::Const(c) => c.ident.to_token_stream(),
            _ => leaf.clone(),
        });
        quote!(#name<#(#arguments),*>)
    }
}

fn unsupported_bound(at: &impl Spanned, leaf: &Ident, name: &Ident) -> Error {
    Error::new(
        at.span(),
        format!(
            "derive(Tree) allows only the bounds `Clone`, `Send`, `Sync` and `'static` on `{leaf}`, because \
             `{name}<Cotangent>` and others must be types too; put this one on the functions that need it"
        ),
    )
}

fn fields<'a>(fields: &'a Fields, leaf: &Ident) -> Result<Vec<Field<'a>>, Error> {
    let mut found = Vec::new();
    let mut errors: Option<Error> = None;
    for (k, f) in fields.iter().enumerate() {
        match field(f, k, leaf) {
            Ok(f) => found.push(f),
            Err(e) => match &mut errors {
                Some(all) => all.combine(e),
                None => errors = Some(e),
            },
        }
    }
    errors.map_or(Ok(found), Err)
}

fn field<'a>(f: &'a syn::Field, k: usize, leaf: &Ident) -> Result<Field<'a>, Error> {
    let member = match &f.ident {
        Some(ident) => Member::Named(ident.clone()),
        None => Member::Unnamed(Index::from(k)),
    };
    let label =
        f.ident.as_ref().map_or_else(|| k.to_string(), |ident| ident.to_string().trim_start_matches("r#").into());
    let mut is_static = false;
    for attr in f.attrs.iter().filter(|a| a.path().is_ident("tree")) {
        // `static` is a keyword, so it is compared as a token.
        let tokens = attr.meta.require_list().map(|list| list.tokens.to_string());
        if tokens.ok().as_deref() != Some("static") {
            return Err(Error::new(attr.span(), "the only attribute is `#[tree(static)]`"));
        }
        is_static = true;
    }
    let ty = &f.ty;
    let names_leaf = mentions(ty, leaf);
    if is_static && names_leaf {
        return Err(Error::new(
            ty.span(),
            format!("field `{label}` is marked static, but its type names the leaf `{leaf}`"),
        ));
    }
    if !is_static && !names_leaf {
        let tensor: Ident = parse_quote!(Tensor);
        return Err(Error::new(
            ty.span(),
            if mentions(ty, &tensor) {
                format!(
                    "field `{label}` is a tensor by name: write its type with the leaf `{leaf}` in place of `Tensor`"
                )
            } else {
                format!(
                    "field `{label}` holds no tensors: mark it `#[tree(static)]`, or write its type in terms of `{leaf}`"
                )
            },
        ));
    }
    Ok(Field { member, ty, is_static, label })
}

/// Whether a name occurs anywhere in some code.
fn mentions(code: &impl ToTokens, name: &Ident) -> bool {
    fn any(tokens: TokenStream, name: &Ident) -> bool {
        tokens.into_iter().any(|t| match t {
            TokenTree::Ident(i) => i == *name,
            TokenTree::Group(g) => any(g.stream(), name),
            _ => false,
        })
    }
    any(code.to_token_stream(), name)
}

/// The type with `from` replaced by `to`.
fn substitute(ty: &Type, from: &Ident, to: &Ident) -> TokenStream {
    fn go(tokens: TokenStream, from: &Ident, to: &Ident) -> TokenStream {
        tokens
            .into_iter()
            .map(|t| match t {
                TokenTree::Ident(i) if i == *from => TokenTree::Ident(to.clone()),
                TokenTree::Group(g) => Group::new(g.delimiter(), go(g.stream(), from, to)).into(),
                other => other,
            })
            .collect()
    }
    go(ty.to_token_stream(), from, to)
}

#[cfg(test)]
mod tests {
    //! The messages of the macro itself. That its code compiles and works is tested in `pullback`.

    use super::*;

    fn message(code: &str) -> String {
        let input = syn::parse_str(code).expect("valid Rust");
        match expand(&input) {
            Ok(code) => panic!("expected an error, got {code}"),
            Err(e) => e.into_iter().map(|e| e.to_string()).collect::<Vec<_>>().join("\n"),
        }
    }

    #[test]
    fn fields_without_tensors_are_named() {
        assert_eq!(
            message("struct Layer<T = Tensor> { w: T, size: usize, name: String }"),
            "field `size` holds no tensors: mark it `#[tree(static)]`, or write its type in terms of `T`\n\
             field `name` holds no tensors: mark it `#[tree(static)]`, or write its type in terms of `T`"
        );
        assert_eq!(
            message("struct Pair<T = Tensor>(T, f32);"),
            "field `1` holds no tensors: mark it `#[tree(static)]`, or write its type in terms of `T`"
        );
        assert_eq!(
            message("struct Layer<T = Tensor> { w: T, b: Vec<Tensor> }"),
            "field `b` is a tensor by name: write its type with the leaf `T` in place of `Tensor`"
        );
        assert_eq!(
            message("struct Layer<T = Tensor> { #[tree(static)] w: T }"),
            "field `w` is marked static, but its type names the leaf `T`"
        );
    }

    #[test]
    fn attributes_are_checked() {
        for attribute in ["tree", "tree(skip)", "tree = 1", "tree(static, skip)"] {
            let code = format!("struct Layer<T = Tensor> {{ #[{attribute}] n: usize }}");
            assert_eq!(message(&code), "the only attribute is `#[tree(static)]`");
        }
    }

    #[test]
    fn the_kind_of_type_is_checked() {
        assert!(
            message("enum Choice<T = Tensor> { A(T), B }")
                .starts_with("derive(Tree) works on structs: the leaves of an enum")
        );
        assert_eq!(message("union Bits<T = Tensor> { a: T }"), "derive(Tree) works on structs");
    }

    #[test]
    fn parameters_are_checked() {
        assert_eq!(
            message("struct Layer { w: Tensor }"),
            "derive(Tree) needs a type parameter that stands for the tensors: write `struct Layer<T = Tensor>` and `T` \
             in place of `Tensor`"
        );
        assert_eq!(
            message("struct Layer<T, A> { w: T, a: A }"),
            "derive(Tree) takes one type parameter, which stands for the tensors, here `T`; give `A` as a type of its own"
        );
        assert!(
            message("struct Layer<'a, T> { w: &'a T }")
                .starts_with("derive(Tree) does not work on structs that borrow")
        );
        let bound = "derive(Tree) allows only the bounds `Clone`, `Send`, `Sync` and `'static` on `T`, because \
             `Layer<Cotangent>` and others must be types too; put this one on the functions that need it";
        assert_eq!(message("struct Layer<T: Display> { w: T }"), bound);
        assert_eq!(message("struct Layer<T> where T: Clone + Tree { w: T }"), bound);
        assert_eq!(message("struct Layer<T> where Vec<T>: Debug { w: T }"), bound);
    }

    #[test]
    fn everything_else_expands() {
        for code in [
            "struct Nothing<T = Tensor>(#[tree(static)] usize);",
            "struct Grid<const N: usize, T: Clone + Send = Tensor> where T: 'static, [u8; N]: Sized { cells: [T; N] }",
            "struct Deep<T = Tensor> { r#type: Option<(T, Vec<Box<T>>)> }",
        ] {
            expand(&syn::parse_str(code).expect("valid Rust")).expect(code);
        }
    }
}
