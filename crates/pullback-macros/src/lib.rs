//! `derive(Tree)` for `pullback`.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, GenericParam, Ident, Index, Member, Type, TypeParam, parse_macro_input};

/// Implements `pullback::Tree` for a struct whose tensors are given by a type parameter, and `pullback::DimSpec` for
/// the same struct of batch dims.
///
/// The struct has exactly one type parameter, its leaf, which should default to `Tensor`. Fields whose type names the
/// leaf (`T`, `Vec<T>`, `Layer<T>`, `Option<(T, T)>`) are subtrees; every other field must be marked
/// `#[tree(static)]`, is copied along, and must be `Clone + Send + Sync`. The struct must be `Clone`.
#[proc_macro_derive(Tree, attributes(tree))]
pub fn derive_tree(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

struct Field<'a> {
    member: Member,
    ty: &'a Type,
    is_static: bool,
    path: String,
}

fn expand(input: &DeriveInput) -> Result<TokenStream, Error> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "derive(Tree) works on structs; use an `Option` or a tuple for choices"));
    };
    let leaf = leaf_parameter(input)?;
    let fields = fields(&data.fields, &leaf.ident)?;
    let name = &input.ident;
    let tree = quote!(::pullback::Tree);
    let each = |make: &dyn Fn(&Field) -> TokenStream| -> Vec<TokenStream> { fields.iter().map(make).collect() };
    let build = |of: &dyn Fn(&Field) -> TokenStream, from: TokenStream| {
        each(&|f| {
            let member = &f.member;
            let value = if f.is_static { quote!(::core::clone::Clone::clone(&#from.#member)) } else { of(f) };
            quote!(#member: #value)
        })
    };
    let map = build(
        &|f| {
            let m = &f.member;
            quote!(#tree::map(&self.#m, f))
        },
        quote!(self),
    );
    let map_mapped = build(
        &|f| {
            let (m, ty) = (&f.member, f.ty);
            quote!(<#ty as #tree>::map_mapped(&mapped.#m, f))
        },
        quote!(mapped),
    );
    let from_mapped = build(
        &|f| {
            let (m, ty) = (&f.member, f.ty);
            quote!(<#ty as #tree>::from_mapped(&mapped.#m, f))
        },
        quote!(mapped),
    );
    let subtrees = |make: &dyn Fn(&Member, &Type) -> TokenStream| -> Vec<TokenStream> {
        fields.iter().filter(|f| !f.is_static).map(|f| make(&f.member, f.ty)).collect()
    };
    let visit = subtrees(&|m, _| quote!(#tree::visit(&self.#m, f);));
    let visit_mapped = subtrees(&|m, ty| quote!(<#ty as #tree>::visit_mapped(&mapped.#m, f);));
    let paths: Vec<TokenStream> = fields
        .iter()
        .filter(|f| !f.is_static)
        .map(|f| {
            let (m, path) = (&f.member, &f.path);
            quote! {
                let len = path.len();
                path.push_str(#path);
                #tree::visit_paths(&self.#m, path, f);
                path.truncate(len);
            }
        })
        .collect();

    let generic = &leaf.ident;
    let dims = dim_spec(name, generic, &fields);
    Ok(quote! {
        #[automatically_derived]
        impl<#generic: #tree> #tree for #name<#generic> {
            type Mapped<Leaf__: ::pullback::Leaf> = #name<<#generic as #tree>::Mapped<Leaf__>>;

            fn map<Leaf__: ::pullback::Leaf>(&self, f: &mut dyn FnMut(&::pullback::Tensor) -> Leaf__) -> Self::Mapped<Leaf__> {
                let _ = &f;
                #name { #(#map),* }
            }
            fn map_mapped<Leaf__: ::pullback::Leaf, Other__: ::pullback::Leaf>(
                mapped: &Self::Mapped<Leaf__>,
                f: &mut dyn FnMut(&Leaf__) -> Other__,
            ) -> Self::Mapped<Other__> {
                let _ = (&mapped, &f);
                #name { #(#map_mapped),* }
            }
            fn from_mapped<Leaf__: ::pullback::Leaf>(
                mapped: &Self::Mapped<Leaf__>,
                f: &mut dyn FnMut(&Leaf__) -> ::pullback::Tensor,
            ) -> Self {
                let _ = (&mapped, &f);
                #name { #(#from_mapped),* }
            }
            fn visit<'tree__>(&'tree__ self, f: &mut dyn FnMut(&'tree__ ::pullback::Tensor)) {
                let _ = &f;
                #(#visit)*
            }
            fn visit_mapped<'tree__, Leaf__: ::pullback::Leaf>(
                mapped: &'tree__ Self::Mapped<Leaf__>,
                f: &mut dyn FnMut(&'tree__ Leaf__),
            ) {
                let _ = (&mapped, &f);
                #(#visit_mapped)*
            }
            fn visit_paths(&self, path: &mut ::std::string::String, f: &mut dyn FnMut(&str)) {
                let _ = (&path, &f);
                #(#paths)*
            }
        }
        #dims
    })
}

/// `Mlp<D>` says where the lanes of an `Mlp` lie, field by field.
fn dim_spec(name: &Ident, leaf: &Ident, fields: &[Field]) -> TokenStream {
    let spec = format_ident!("Dims__", span = Span::call_site());
    let (mut bounds, mut calls) = (Vec::new(), Vec::new());
    for f in fields.iter().filter(|f| !f.is_static) {
        let (member, tree) = (&f.member, f.ty);
        let dims = substitute(f.ty, leaf, &spec);
        bounds.push(quote!(#dims: ::pullback::DimSpec<#tree>));
        calls.push(quote!(out.extend(::pullback::DimSpec::<#tree>::dims(&self.#member, &tree.#member)?);));
    }
    quote! {
        #[automatically_derived]
        impl<#leaf: ::pullback::Tree, #spec> ::pullback::DimSpec<#name<#leaf>> for #name<#spec>
        where #(#bounds),*
        {
            fn dims(&self, tree: &#name<#leaf>) -> ::pullback::Result<::std::vec::Vec<::core::option::Option<isize>>> {
                let mut out = ::std::vec::Vec::new();
                let _ = tree;
                #(#calls)*
                ::core::result::Result::Ok(out)
            }
        }
    }
}

fn leaf_parameter(input: &DeriveInput) -> Result<&TypeParam, Error> {
    let mut parameters = input.generics.params.iter();
    match (parameters.next(), parameters.next()) {
        (Some(GenericParam::Type(leaf)), None) => Ok(leaf),
        _ => Err(Error::new(
            input.ident.span(),
            format!(
                "derive(Tree) needs one type parameter that stands for the leaves: `struct {}<T = Tensor>`",
                input.ident
            ),
        )),
    }
}

fn fields<'a>(fields: &'a Fields, leaf: &Ident) -> Result<Vec<Field<'a>>, Error> {
    fields
        .iter()
        .enumerate()
        .map(|(k, f)| {
            let member = match &f.ident {
                Some(ident) => Member::Named(ident.clone()),
                None => Member::Unnamed(Index::from(k)),
            };
            let label = f.ident.as_ref().map_or_else(|| k.to_string(), Ident::to_string);
            let mut is_static = false;
            for attr in f.attrs.iter().filter(|a| a.path().is_ident("tree")) {
                let text = attr.meta.require_list()?.tokens.to_string();
                if text != "static" {
                    return Err(Error::new(attr.span(), "the only attribute is `#[tree(static)]`"));
                }
                is_static = true;
            }
            let names_leaf = mentions(&f.ty, leaf);
            if !is_static && !names_leaf {
                return Err(Error::new(
                    f.ty.span(),
                    format!("field `{label}` holds no tensors: mark it `#[tree(static)]`, or write its type in terms of `{leaf}`"),
                ));
            }
            if is_static && names_leaf {
                return Err(Error::new(
                    f.ty.span(),
                    format!("field `{label}` is marked static, but its type names the leaf `{leaf}`"),
                ));
            }
            Ok(Field { member, ty: &f.ty, is_static, path: format!(".{label}") })
        })
        .collect()
}

fn mentions(ty: &Type, leaf: &Ident) -> bool {
    fn any(tokens: TokenStream, leaf: &Ident) -> bool {
        tokens.into_iter().any(|t| match t {
            proc_macro2::TokenTree::Ident(i) => i == *leaf,
            proc_macro2::TokenTree::Group(g) => any(g.stream(), leaf),
            _ => false,
        })
    }
    any(quote!(#ty), leaf)
}

/// The type with `from` replaced by `to`.
fn substitute(ty: &Type, from: &Ident, to: &Ident) -> TokenStream {
    fn go(tokens: TokenStream, from: &Ident, to: &Ident) -> TokenStream {
        tokens
            .into_iter()
            .map(|t| match t {
                proc_macro2::TokenTree::Ident(i) if i == *from => proc_macro2::TokenTree::Ident(to.clone()),
                proc_macro2::TokenTree::Group(g) => {
                    proc_macro2::Group::new(g.delimiter(), go(g.stream(), from, to)).into()
                }
                other => other,
            })
            .collect()
    }
    go(quote!(#ty), from, to)
}
