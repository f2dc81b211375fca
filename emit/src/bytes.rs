//! Numbers and names in the bytes of a file that nobody vouches for: every read is checked against the file's end.

/// Which byte of a number comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The lowest.
    Little,
    /// The highest.
    Big,
}

/// Bytes and the order of their numbers. Offsets count from the first byte; reads beyond the end give nothing.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    data: &'a [u8],
    order: Order,
}

impl<'a> Bytes<'a> {
    /// Bytes whose numbers begin with their lowest byte.
    pub const fn little(data: &'a [u8]) -> Bytes<'a> {
        Bytes { data, order: Order::Little }
    }
    /// Bytes whose numbers begin with their highest byte.
    pub const fn big(data: &'a [u8]) -> Bytes<'a> {
        Bytes { data, order: Order::Big }
    }
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.data.len()
    }
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
    /// Some bytes as they stand.
    pub fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.data.get(at..at.checked_add(N)?)?.try_into().ok()
    }
    /// A byte.
    pub fn u8(&self, at: usize) -> Option<u8> {
        self.data.get(at).copied()
    }
    /// A number of two bytes.
    pub fn u16(&self, at: usize) -> Option<u16> {
        self.array(at).map(if self.order == Order::Big { u16::from_be_bytes } else { u16::from_le_bytes })
    }
    /// A number of four bytes.
    pub fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(if self.order == Order::Big { u32::from_be_bytes } else { u32::from_le_bytes })
    }
    /// A number of eight bytes.
    pub fn u64(&self, at: usize) -> Option<u64> {
        self.array(at).map(if self.order == Order::Big { u64::from_be_bytes } else { u64::from_le_bytes })
    }
    /// The bytes up to the next zero, which must be there.
    pub fn name(&self, at: usize) -> Option<&'a [u8]> {
        let rest = self.data.get(at..)?;
        rest.iter().position(|b| *b == 0).map(|end| &rest[..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_with_the_file() {
        let data = [1, 2, 3, 4, 0, 5, 6, 7, 8];
        let (l, b) = (Bytes::little(&data), Bytes::big(&data));
        assert_eq!((l.u16(0), b.u16(0), l.u32(0), b.u32(0)), (Some(0x0201), Some(0x0102), Some(0x0403_0201), Some(0x0102_0304)));
        assert_eq!((l.u64(1), b.u64(1)), (Some(0x0807_0605_0004_0302), Some(0x0203_0400_0506_0708)));
        assert_eq!((l.u16(8), l.u32(6), l.u64(2), l.u8(9), l.u32(usize::MAX)), (None, None, None, None, None));
        assert_eq!((l.name(2), l.name(5), l.name(10)), (Some(&[3, 4][..]), None, None));
    }
}
