//! Numbers that can be combined element by element.

/// How [`Communicator::reduce_elements`](crate::Communicator::reduce_elements) and
/// [`Communicator::all_reduce_elements`](crate::Communicator::all_reduce_elements) combine two elements.
///
/// All four are associative and commutative up to the rounding of floating-point numbers. Integers
/// wrap around; `Min` and `Max` of a number and NaN are the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reducer {
    /// `a + b`
    Sum,
    /// `a * b`
    Product,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
}

mod sealed {
    pub trait Sealed {}
}

/// The primitive integers of up to 64 bits and the floating-point numbers.
pub trait Number: crate::Payload + Copy + sealed::Sealed {
    /// Combines each element of `into` with the one at the same index of `from`.
    #[doc(hidden)]
    fn combine(reducer: Reducer, into: &mut [Self], from: &[Self]);
}

macro_rules! numbers {
    ($add:expr, $multiply:expr, $min:expr, $max:expr; $($number:ty)*) => {
        $(impl sealed::Sealed for $number {}
        impl Number for $number {
            fn combine(reducer: Reducer, into: &mut [Self], from: &[Self]) {
                // A separate loop for each operation, so that the compiler vectorises it.
                fn each(
                    into: &mut [$number],
                    from: &[$number],
                    op: impl Fn($number, $number) -> $number,
                ) {
                    for (a, b) in into.iter_mut().zip(from) {
                        *a = op(*a, *b);
                    }
                }
                match reducer {
                    Reducer::Sum => each(into, from, $add),
                    Reducer::Product => each(into, from, $multiply),
                    Reducer::Min => each(into, from, $min),
                    Reducer::Max => each(into, from, $max),
                }
            }
        })*
    };
}

numbers! {
    |a, b| a.wrapping_add(b), |a, b| a.wrapping_mul(b), |a, b| a.min(b), |a, b| a.max(b);
    u8 u16 u32 u64 usize i8 i16 i32 i64 isize
}
numbers! {
    |a, b| a + b, |a, b| a * b, |a, b| a.min(b), |a, b| a.max(b);
    f32 f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reducer_combines_elements() {
        let combined = |reducer, a: f64, b: f64| {
            let mut into = [a];
            f64::combine(reducer, &mut into, &[b]);
            into[0]
        };
        assert_eq!(combined(Reducer::Sum, 2.0, 3.0), 5.0);
        assert_eq!(combined(Reducer::Product, 2.0, 3.0), 6.0);
        assert_eq!(combined(Reducer::Min, 2.0, 3.0), 2.0);
        assert_eq!(combined(Reducer::Max, 2.0, 3.0), 3.0);
        assert_eq!(combined(Reducer::Max, f64::NAN, 3.0), 3.0);
        let mut into = [250u8];
        u8::combine(Reducer::Sum, &mut into, &[10]);
        assert_eq!(into, [4]);
    }
}
