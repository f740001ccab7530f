use std::fmt;

/// A finite number: an integer of up to 64 bits where it is one, else a double.
///
/// There is one representation per number, so `1` and `1.0` are the same value and print the same, and
/// negative zero is zero.
///
/// ```
/// use footprint::value::Number;
/// assert_eq!(Number::from(1), Number::from_f64(1.0).unwrap());
/// assert_eq!(Number::from_f64(0.5).unwrap().as_i64(), None);
/// assert!(Number::from_f64(f64::NAN).is_none());
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Number(Repr);

#[derive(Clone, Copy, PartialEq)]
enum Repr {
    /// Every integer that fits.
    Signed(i64),
    /// Integers above `i64::MAX` only.
    Unsigned(u64),
    /// Everything else: fractions, and magnitudes beyond 64 bits.
    Float(f64),
}

/// A number handed out in its own representation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NumberForm {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

impl Number {
    /// A double; `None` for NaN and the infinities.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        // 2^63 and 2^64 are exact doubles; casts inside these bounds are exact for integral values.
        const TWO_63: f64 = 9_223_372_036_854_775_808.0;
        const TWO_64: f64 = 18_446_744_073_709_551_616.0;
        Some(Self(if value.fract() != 0.0 {
            Repr::Float(value)
        } else if (-TWO_63..TWO_63).contains(&value) {
            Repr::Signed(value as i64)
        } else if (TWO_63..TWO_64).contains(&value) {
            Repr::Unsigned(value as u64)
        } else {
            Repr::Float(value)
        }))
    }

    /// The number as an `i64`, when it is that integer exactly.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Signed(value) => Some(value),
            _ => None,
        }
    }

    /// The number as a `u64`, when it is that integer exactly.
    pub fn as_u64(&self) -> Option<u64> {
        match self.0 {
            Repr::Signed(value) => u64::try_from(value).ok(),
            Repr::Unsigned(value) => Some(value),
            Repr::Float(_) => None,
        }
    }

    /// The nearest double.
    pub fn as_f64(&self) -> f64 {
        match self.0 {
            Repr::Signed(value) => value as f64,
            Repr::Unsigned(value) => value as f64,
            Repr::Float(value) => value,
        }
    }

    /// Whether it is an integer of up to 64 bits.
    pub fn is_integer(&self) -> bool {
        !matches!(self.0, Repr::Float(_))
    }

    /// Whether a reader that keeps numbers as doubles would change it (ENG-64).
    pub fn loses_precision_as_double(&self) -> bool {
        const EXACT: u64 = 1 << 53;
        match self.0 {
            Repr::Signed(value) => value.unsigned_abs() > EXACT,
            Repr::Unsigned(_) => true,
            Repr::Float(_) => false,
        }
    }

    pub(crate) fn form(&self) -> NumberForm {
        match self.0 {
            Repr::Signed(value) => NumberForm::Signed(value),
            Repr::Unsigned(value) => NumberForm::Unsigned(value),
            Repr::Float(value) => NumberForm::Float(value),
        }
    }

    /// Reads the text of a JSON number; `None` when its magnitude is not a finite double.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Ok(value) = text.parse::<i64>() {
            return Some(value.into());
        }
        if let Ok(value) = text.parse::<u64>() {
            return Some(value.into());
        }
        text.parse::<f64>().ok().and_then(Self::from_f64)
    }
}

/// By value; integers compare exactly, mixed forms by their nearest doubles.
impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        match (self.0, other.0) {
            (Repr::Float(_), _) | (_, Repr::Float(_)) => self.as_f64().partial_cmp(&other.as_f64()),
            (Repr::Signed(a), Repr::Signed(b)) => Some(a.cmp(&b)),
            (Repr::Unsigned(a), Repr::Unsigned(b)) => Some(a.cmp(&b)),
            (Repr::Signed(_), Repr::Unsigned(_)) => Some(std::cmp::Ordering::Less),
            (Repr::Unsigned(_), Repr::Signed(_)) => Some(std::cmp::Ordering::Greater),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Signed(value) => value.fmt(f),
            Repr::Unsigned(value) => value.fmt(f),
            Repr::Float(value) => {
                // Plain digits in the range where JavaScript writes plain digits, an exponent beyond.
                let magnitude = value.abs();
                if (1e-6..1e21).contains(&magnitude) { write!(f, "{value}") } else { write!(f, "{value:e}") }
            }
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        Self(i64::try_from(value).map_or(Repr::Unsigned(value), Repr::Signed))
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Self::from(value as u64)
    }
}

macro_rules! from_small_integers {
    ($($int:ty),*) => {$(
        impl From<$int> for Number {
            fn from(value: $int) -> Self {
                Self(Repr::Signed(value as i64))
            }
        }
    )*};
}
from_small_integers!(i8, i16, i32, i64, isize, u8, u16, u32);
