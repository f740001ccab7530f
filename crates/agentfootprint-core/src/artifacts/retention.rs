//! Which rows leave when a new one comes: one pure plan for all stores (MEM-125).

use agentfootprint_record::events::words::ExpiryReason;
use footprint::value::Str;

use super::port::{ArtifactError, Swept};
use super::shape::ArtifactRef;

/// The budgets of a scope. An absent one does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// How long a row stays, milliseconds.
    pub ttl_ms: Option<u64>,
    /// How many bytes a scope may hold.
    pub max_bytes_per_scope: Option<u64>,
    /// How many rows a scope may hold.
    pub max_count_per_scope: Option<u64>,
}

impl Retention {
    /// Refuses a budget of zero.
    ///
    /// # Errors
    /// [`ArtifactError::Invalid`], naming the budget.
    pub fn check(&self) -> Result<(), ArtifactError> {
        let budgets = [
            ("ttlMs", self.ttl_ms),
            ("maxBytesPerScope", self.max_bytes_per_scope),
            ("maxCountPerScope", self.max_count_per_scope),
        ];
        match budgets.iter().find(|(_, budget)| *budget == Some(0)) {
            Some((name, _)) => {
                Err(ArtifactError::Invalid(format!("`{name}` is 0; give a positive number or none")))
            }
            None => Ok(()),
        }
    }

    /// When a row minted now leaves: the caller's time or the store's, whichever is first.
    pub fn expiry(&self, asked: Option<u64>, now_ms: u64) -> Option<u64> {
        let own = self.ttl_ms.map(|ttl| now_ms.saturating_add(ttl));
        match (asked, own) {
            (Some(asked), Some(own)) => Some(asked.min(own)),
            (asked, own) => asked.or(own),
        }
    }
}

/// A stored row, as far as the plan looks at it.
#[derive(Clone, Debug)]
pub struct RetentionRow {
    /// Which.
    pub reference: ArtifactRef,
    /// Its kind.
    pub kind: Str,
    /// Its size.
    pub bytes: u64,
    /// When it leaves by itself.
    pub expires_at: Option<u64>,
    /// When it was last looked at; any growing number.
    pub last_access: u64,
}

/// What has to leave so that a row of `incoming` bytes fits. Expired rows first, then by count, then by bytes; within each the
/// one nobody looked at for longest, ties by reference.
///
/// # Errors
/// [`ArtifactError::Invalid`] when the new row alone is over the byte budget: a scope is never emptied for it.
pub fn plan_retention(
    rows: &[RetentionRow],
    incoming: u64,
    retention: &Retention,
    now_ms: u64,
) -> Result<Vec<Swept>, ArtifactError> {
    if let Some(max) = retention.max_bytes_per_scope.filter(|max| incoming > *max) {
        return Err(ArtifactError::Invalid(format!("it has {incoming} bytes and the scope may hold {max}")));
    }
    let is_over = |row: &&RetentionRow| row.expires_at.is_some_and(|at| at <= now_ms);
    let mut swept: Vec<Swept> =
        rows.iter().filter(is_over).map(|row| swept_row(row, ExpiryReason::Ttl)).collect();
    let mut kept: Vec<&RetentionRow> = rows.iter().filter(|row| !is_over(row)).collect();
    kept.sort_by(|a, b| a.last_access.cmp(&b.last_access).then_with(|| a.reference.cmp(&b.reference)));
    let mut count = u64::try_from(kept.len()).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = kept.iter().fold(incoming, |sum, row| sum.saturating_add(row.bytes));
    for row in kept {
        let reason = if retention.max_count_per_scope.is_some_and(|max| count > max) {
            ExpiryReason::MaxCount
        } else if retention.max_bytes_per_scope.is_some_and(|max| bytes > max) {
            ExpiryReason::MaxBytes
        } else {
            break;
        };
        count = count.saturating_sub(1);
        bytes = bytes.saturating_sub(row.bytes);
        swept.push(swept_row(row, reason));
    }
    Ok(swept)
}

fn swept_row(row: &RetentionRow, reason: ExpiryReason) -> Swept {
    Swept { reference: row.reference.clone(), reason, kind: row.kind.clone(), bytes: row.bytes }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reference(n: usize) -> ArtifactRef {
        ArtifactRef::parse(&format!("art_{n:022}")).unwrap()
    }

    fn row(n: usize, bytes: u64, last_access: u64, expires_at: Option<u64>) -> RetentionRow {
        RetentionRow { reference: reference(n), kind: "k".into(), bytes, expires_at, last_access }
    }

    fn leaves(swept: &[Swept]) -> Vec<(ArtifactRef, ExpiryReason)> {
        swept.iter().map(|one| (one.reference.clone(), one.reason.clone())).collect()
    }

    /// Proves MEM-125.
    #[test]
    fn expired_rows_leave_first_then_count_then_bytes() {
        let rows = [row(1, 10, 5, None), row(2, 10, 3, None), row(3, 10, 3, None), row(4, 10, 9, Some(100))];
        let retention =
            Retention { max_count_per_scope: Some(3), max_bytes_per_scope: Some(30), ttl_ms: None };
        // The expired row is enough for nothing else: three remain, one must go by count, then bytes.
        let swept = plan_retention(&rows, 20, &retention, 100).unwrap();
        assert_eq!(
            leaves(&swept),
            [
                (reference(4), ExpiryReason::Ttl),
                (reference(2), ExpiryReason::MaxCount),
                (reference(3), ExpiryReason::MaxBytes),
            ]
        );
        let refused = plan_retention(&rows, 31, &retention, 0).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the artifact cannot be stored: it has 31 bytes and the scope may hold 30"
        );
        let zero = Retention { ttl_ms: Some(0), ..Retention::default() };
        assert!(zero.check().unwrap_err().to_string().contains("`ttlMs` is 0"));
    }

    /// Proves MEM-125: a store may tighten, never extend.
    #[test]
    fn the_earlier_expiry_wins() {
        let hour = Retention { ttl_ms: Some(60), ..Retention::default() };
        assert_eq!(hour.expiry(Some(30), 10), Some(30));
        assert_eq!(hour.expiry(Some(300), 10), Some(70));
        assert_eq!(hour.expiry(None, 10), Some(70));
        assert_eq!(Retention::default().expiry(None, 10), None);
    }

    proptest! {
        /// Proves MEM-125: the budgets hold after every put, and nothing leaves that did not have to.
        #[test]
        fn budgets_hold_and_no_row_leaves_needlessly(
            sizes in prop::collection::vec((1u64..50, 0u64..9), 0..12),
            incoming in 1u64..50,
            max_bytes in 50u64..200,
            max_count in 1u64..10,
        ) {
            let rows: Vec<_> = sizes.iter().enumerate().map(|(n, (bytes, at))| row(n, *bytes, *at, None)).collect();
            let retention = Retention {
                ttl_ms: None, max_bytes_per_scope: Some(max_bytes), max_count_per_scope: Some(max_count),
            };
            let swept = plan_retention(&rows, incoming, &retention, 0).unwrap();
            let left: Vec<_> = rows.iter().filter(|row| !swept.iter().any(|out| out.reference == row.reference)).collect();
            let sum = |rows: &[&RetentionRow]| rows.iter().map(|row| row.bytes).sum::<u64>() + incoming;
            prop_assert!((left.len() as u64) < max_count);
            prop_assert!(sum(&left) <= max_bytes);
            if let Some(last) = swept.last() {
                // With the last one kept, a budget would have been over.
                let back = rows.iter().find(|row| row.reference == last.reference).unwrap();
                let mut with = left.clone();
                with.push(back);
                prop_assert!(with.len() as u64 + 1 > max_count || sum(&with) > max_bytes);
            }
        }
    }
}
