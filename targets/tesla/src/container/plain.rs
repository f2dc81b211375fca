//! In place of a container: the code, which a driver loads beside the interface that reflection tells.

use crate::abi::Abi;
use crate::emit::Code;

/// The code's words.
pub fn write(code: &Code, _: &Abi) -> Result<Vec<u8>, String> {
    Ok(code.bytes.clone())
}

/// Code alone says nothing of its interface.
pub fn read(_: &[u8]) -> Option<(Vec<u8>, Abi)> {
    None
}
