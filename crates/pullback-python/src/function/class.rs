//! What is known of a class of functions: which methods it has, and how its arguments are bound.

use std::sync::Arc;

use pyo3::PyTraverseError;
use pyo3::exceptions::PyTypeError;
use pyo3::gc::PyVisit;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use super::PyFunction;

/// The attribute by which `once_differentiable` marks a method.
pub const ONCE: &str = "__once_differentiable__";

/// The attribute of a class that holds its [`Facts`].
const FACTS: &str = "__pullback_facts__";

/// The attributes by which it is noticed that a class was changed.
const COMPARED: [&str; 3] = ["forward", "setup_context", "backward"];

/// What is found out once per class. Methods that may be exchanged later are compared at every call.
pub struct Facts {
    pub name: Arc<str>,
    /// Of which class these are: subclasses inherit the attribute.
    class: usize,
    /// The values of [`COMPARED`].
    compared: [Py<PyAny>; 3],
    /// Whether `backward` is written by that name.
    has_backward: bool,
    /// True if `forward` takes the context itself, because there is no `setup_context`.
    pub combined: bool,
    pub backward_once: bool,
    /// Whether `backward` takes one list of gradients, from which it may drop them early.
    pub boxed: bool,
    pub jvp_once: bool,
    signature: Option<Signature>,
}

/// The parameters of `forward`, without the context.
struct Signature {
    /// Those that can be given by position, with their defaults.
    parameters: Vec<(String, Option<Py<PyAny>>)>,
    /// Whether there is `*args`.
    more: bool,
    keyword_only: Vec<String>,
}

#[pyclass(name = "FunctionFacts", module = "pullback.autograd.function", frozen)]
struct PyFacts(Arc<Facts>);

#[pymethods]
impl PyFacts {
    /// The class holds this, and its methods may refer to the class.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.compared.iter().try_for_each(|method| visit.call(method))
    }
}

/// A method, if the class or one between it and `Function` has written it.
pub fn method<'py>(cls: &Bound<'py, PyType>, name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let own = cls.getattr(name)?;
    let base = cls.py().get_type::<PyFunction>().getattr(name)?;
    Ok((!own.is(&base)).then_some(own))
}

/// `backward` by either of its names.
pub fn backward<'py>(cls: &Bound<'py, PyType>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = cls.py();
    match (method(cls, intern!(py, "backward"))?, method(cls, intern!(py, "vjp"))?) {
        (Some(_), Some(_)) => Err(PyTypeError::new_err(format!(
            "function `{}` has both `backward` and `vjp`, which are two names of one method; help: keep one",
            cls.name()?
        ))),
        (a, b) => Ok(a.or(b)),
    }
}

/// How a class is batched.
pub enum Lanes<'py> {
    Missing,
    Generated,
    Rule(Bound<'py, PyAny>),
}

/// An attribute of a class that is True or False.
fn flag(cls: &Bound<'_, PyType>, name: &str) -> PyResult<bool> {
    let flag = cls.getattr(name)?;
    flag.extract().map_err(|_| {
        let (function, got) = (cls.name().map_or_else(|_| "".into(), |name| name.to_string()), flag.to_string());
        PyTypeError::new_err(format!("function `{function}`: expected True or False for `{name}`, got {got}"))
    })
}

pub fn lanes<'py>(cls: &Bound<'py, PyType>) -> PyResult<Lanes<'py>> {
    let py = cls.py();
    match (flag(cls, "generate_vmap_rule")?, method(cls, intern!(py, "vmap"))?) {
        (false, None) => Ok(Lanes::Missing),
        (false, Some(rule)) => Ok(Lanes::Rule(rule)),
        (true, None) => Ok(Lanes::Generated),
        (true, Some(_)) => Err(PyTypeError::new_err(format!(
            "function `{}` has a method `vmap` and asks for a generated rule with `generate_vmap_rule = True`, so it is \
             not clear which rule to use; help: remove one of them",
            cls.name()?
        ))),
    }
}

/// An error for members that contradict each other.
pub fn check(cls: &Bound<'_, PyType>) -> PyResult<()> {
    lanes(cls)?;
    flag(cls, "boxed_grads_call")?;
    backward(cls)?;
    Ok(())
}

pub fn is_once(method: &Bound<'_, PyAny>) -> bool {
    method.getattr_opt(ONCE).ok().flatten().is_some_and(|flag| flag.is_truthy().unwrap_or(false))
}

impl Facts {
    /// The facts of a class, found out again if its methods were exchanged.
    pub fn of(cls: &Bound<'_, PyType>) -> PyResult<Arc<Facts>> {
        let py = cls.py();
        let now = [
            cls.getattr(intern!(py, COMPARED[0]))?,
            cls.getattr(intern!(py, COMPARED[1]))?,
            cls.getattr(intern!(py, COMPARED[2]))?,
        ];
        if let Some(known) = cls.getattr_opt(intern!(py, FACTS))?
            && let Ok(known) = known.cast_exact::<PyFacts>()
        {
            let known = &known.get().0;
            // Bound methods are new objects at every access.
            let same = |(known, now): (&Py<PyAny>, &Bound<'_, PyAny>)| known.is(now) || now.eq(known).unwrap_or(false);
            if known.class == cls.as_ptr() as usize && known.compared.iter().zip(&now).all(same) {
                return Ok(known.clone());
            }
        }
        let facts = Arc::new(Facts::find(cls, now)?);
        cls.setattr(intern!(py, FACTS), Bound::new(py, PyFacts(facts.clone()))?)?;
        Ok(facts)
    }

    fn find<'py>(cls: &Bound<'py, PyType>, compared: [Bound<'py, PyAny>; 3]) -> PyResult<Facts> {
        let py = cls.py();
        check(cls)?;
        let combined = method(cls, intern!(py, "setup_context"))?.is_none();
        let (reverse, jvp) = (backward(cls)?, method(cls, intern!(py, "jvp"))?);
        // A rule that is derived from another one is as often differentiable as that one.
        let once = |own: &Option<Bound<'_, PyAny>>, other: &Option<Bound<'_, PyAny>>| {
            own.as_ref().or(other.as_ref()).is_some_and(is_once)
        };
        Ok(Facts {
            name: cls.name()?.to_string().into(),
            class: cls.as_ptr() as usize,
            combined,
            backward_once: once(&reverse, &jvp),
            boxed: flag(cls, "boxed_grads_call")?,
            jvp_once: once(&jvp, &reverse),
            signature: Signature::of(&compared[0], combined),
            has_backward: method(cls, intern!(py, COMPARED[2]))?.is_some(),
            compared: compared.map(Bound::unbind),
        })
    }

    pub fn forward(&self) -> &Py<PyAny> {
        &self.compared[0]
    }

    pub fn setup_context(&self) -> &Py<PyAny> {
        &self.compared[1]
    }

    /// `backward` by either of its names, of the class that these facts are of.
    pub fn backward<'py>(&self, cls: &Bound<'py, PyType>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.has_backward {
            true => Ok(Some(self.compared[2].bind(cls.py()).clone())),
            false => backward(cls),
        }
    }

    /// `argument 1 (weight)`
    pub fn argument(&self, position: usize) -> String {
        match self.signature.as_ref().and_then(|s| s.parameters.get(position)) {
            Some((name, _)) => format!("argument {position} ({name})"),
            None => format!("argument {position}"),
        }
    }

    /// All arguments by position: keywords and defaults in their places.
    pub fn bind<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let kwargs = kwargs.filter(|kwargs| !kwargs.is_empty());
        match &self.signature {
            Some(signature) => signature.bind(&self.name, self.combined, args, kwargs),
            None => match kwargs {
                None => Ok(args.clone()),
                Some(kwargs) => Err(PyTypeError::new_err(format!(
                    "{}.apply: the parameters of `forward` have no names that are known, got keywords {}; help: give the \
                     arguments by position",
                    self.name,
                    kwargs.keys().repr()?
                ))),
            },
        }
    }
}

impl Signature {
    /// `None` for what has no signature, as some functions of other languages.
    fn of(forward: &Bound<'_, PyAny>, with_context: bool) -> Option<Signature> {
        let find = || -> PyResult<Signature> {
            let py = forward.py();
            let inspect = py.import(intern!(py, "inspect"))?;
            let parameters = inspect.call_method1(intern!(py, "signature"), (forward,))?.getattr("parameters")?;
            let empty = inspect.getattr("Parameter")?.getattr("empty")?;
            let mut found = Signature { parameters: Vec::new(), more: false, keyword_only: Vec::new() };
            for parameter in parameters.call_method0("values")?.try_iter()? {
                let parameter = parameter?;
                let name: String = parameter.getattr("name")?.extract()?;
                let default = parameter.getattr("default")?;
                match parameter.getattr("kind")?.getattr("name")?.extract::<String>()?.as_str() {
                    "VAR_POSITIONAL" => found.more = true,
                    "KEYWORD_ONLY" => found.keyword_only.push(name),
                    "VAR_KEYWORD" => {}
                    _ => found.parameters.push((name, (!default.is(&empty)).then(|| default.unbind()))),
                }
            }
            if with_context && !found.parameters.is_empty() {
                found.parameters.remove(0);
            }
            Ok(found)
        };
        find().ok()
    }

    fn bind<'py>(
        &self,
        name: &str,
        combined: bool,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let (py, n) = (args.py(), args.len());
        let known = self.parameters.len();
        if n > known && !self.more {
            let help = match combined {
                true => "; help: without `setup_context`, the first parameter of `forward` is `ctx`",
                false => "",
            };
            return Err(PyTypeError::new_err(format!(
                "{name}.apply: expected at most {known} arguments ({}), got {n}{help}",
                self.names()
            )));
        }
        // In the older form, defaults that nobody asks for stay with Python.
        let wanted = match (kwargs, combined) {
            (None, true) => n,
            (_, false) => known.max(n),
            (Some(kwargs), true) => {
                let given = |(_, (name, _)): &(usize, &(String, _))| kwargs.contains(name).unwrap_or(false);
                self.parameters.iter().enumerate().filter(given).map(|(k, _)| k + 1).next_back().unwrap_or(0).max(n)
            }
        };
        if kwargs.is_none() && n == wanted {
            return Ok(args.clone());
        }
        if let Some(kwargs) = kwargs {
            self.check_keywords(name, n, kwargs)?;
        }
        let mut all: Vec<Bound<'py, PyAny>> = args.iter().collect();
        for (parameter, default) in &self.parameters[n.min(known)..wanted.min(known).max(n.min(known))] {
            let given = kwargs.map(|kwargs| kwargs.get_item(parameter)).transpose()?.flatten();
            match (given, default) {
                (Some(given), _) => all.push(given),
                (None, Some(default)) => all.push(default.bind(py).clone()),
                (None, None) => {
                    return Err(PyTypeError::new_err(format!(
                        "{name}.apply: expected an argument for parameter `{parameter}` of `forward` ({}), got none",
                        self.names()
                    )));
                }
            }
        }
        PyTuple::new(py, all)
    }

    fn check_keywords(&self, name: &str, by_position: usize, kwargs: &Bound<'_, PyDict>) -> PyResult<()> {
        for key in kwargs.keys() {
            let key = key.extract::<String>()?;
            match self.parameters.iter().position(|(parameter, _)| *parameter == key) {
                Some(k) if k < by_position => {
                    return Err(PyTypeError::new_err(format!(
                        "{name}.apply: parameter `{key}` of `forward` is given twice, by position {k} and by keyword"
                    )));
                }
                Some(_) => {}
                None if self.keyword_only.contains(&key) => {
                    return Err(PyTypeError::new_err(format!(
                        "{name}.apply: parameter `{key}` of `forward` takes a keyword only, so it has no place among the \
                         gradients; help: remove the `*` in front of it"
                    )));
                }
                None => {
                    return Err(PyTypeError::new_err(format!(
                        "{name}.apply: expected keywords that name parameters of `forward` ({}), got `{key}`",
                        self.names()
                    )));
                }
            }
        }
        Ok(())
    }

    fn names(&self) -> String {
        let mut names: Vec<&str> = self.parameters.iter().map(|(name, _)| name.as_str()).collect();
        if self.more {
            names.push("*args");
        }
        names.join(", ")
    }
}
