//! Where operations were called, for the messages of anomaly mode.

use pullback::autograd::Anomaly;
use pyo3::prelude::*;

pub fn name_callers() {
    Anomaly::name_callers(|| Python::attach(|py| caller(py).ok()));
}

/// The innermost frame of Python code that is not of this package.
fn caller(py: Python<'_>) -> PyResult<String> {
    let own = py.import("pullback")?.getattr("__path__")?.get_item(0)?.extract::<String>()?;
    let mut frame = py.import("sys")?.call_method0("_getframe")?;
    loop {
        let code = frame.getattr("f_code")?;
        let file: String = code.getattr("co_filename")?.extract()?;
        if !file.starts_with(&own) {
            let (line, function) = (frame.getattr("f_lineno")?, code.getattr("co_name")?);
            return Ok(format!("at {file}:{line} in `{function}`"));
        }
        frame = frame.getattr("f_back")?;
    }
}
