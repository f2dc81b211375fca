//! The verifier.

use crate::diag::Diagnostic;
use crate::module::Module;

/// Checks a module against the rules of the IR.
pub fn verify(_: &Module) -> Result<(), Vec<Diagnostic>> {
    Ok(())
}
