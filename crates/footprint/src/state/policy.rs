use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::redact::RedactionRule;

/// How much of reads or writes a tree node keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tracking {
    /// The values, shared.
    #[default]
    Full,
    /// Type, size and a short preview.
    Summary,
    /// Nothing.
    Off,
}

/// How the commit log spells values; lossless either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommitValues {
    /// One row per operation, whole values.
    #[default]
    Full,
    /// One row per path, smallest change. Right for loops: the log of a growing list stays linear.
    Delta,
}

/// Whether rows say what the stage had read before it wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteProvenance {
    /// They do not.
    #[default]
    Off,
    /// Each row lists the keys tracked-read before that write.
    ReadsPrefix,
}

macro_rules! words {
    ($dial:ident { $($variant:ident = $word:literal),* }) => {
        impl $dial {
            /// The recorded word.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $dial {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $dial {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    other => Err(UnknownWord(other.to_owned())),
                }
            }
        }
    };
}
words!(Tracking { Full = "full", Summary = "summary", Off = "off" });
words!(CommitValues { Full = "full", Delta = "delta" });
words!(WriteProvenance { Off = "off", ReadsPrefix = "reads-prefix" });

/// A word that is none of a dial's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown dial word {0:?}")]
pub struct UnknownWord(pub String);

/// Everything a run decides once about its record. Frozen, and shared by reference with every frame of
/// every level, seed commits included, so no path can run with other dials.
///
/// ```
/// use footprint::state::{CommitValues, RunPolicy, Tracking};
/// let policy = RunPolicy { commit_values: CommitValues::Delta, ..RunPolicy::default() };
/// assert_eq!(policy.read_tracking, Tracking::Full);
/// ```
#[derive(Debug, Clone, Default)]
pub struct RunPolicy {
    /// What `stageReads` of a tree node keeps.
    pub read_tracking: Tracking,
    /// What `stageWrites` of a tree node and the commit hook's mutations keep.
    pub write_tracking: Tracking,
    /// How the log spells values.
    pub commit_values: CommitValues,
    /// Whether rows list what was read before.
    pub write_provenance: WriteProvenance,
    /// The one rule about what may be shown; `None` = everything.
    pub redaction: Option<Arc<RedactionRule>>,
}
