//! A provider over a remote catalogue: one request at a time, kept for a while (TOOL-20).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use footprint::clock::{Clock, SystemClock};
use footprint::value::Str;

use super::{ToolListContext, ToolProvider, ToolProviderError};
use crate::run::lock;
use crate::tools::tool::Tool;

/// Where a [`DiscoveryProvider`] gets its tools: a registry of tools somewhere else.
#[async_trait]
pub trait DiscoveryHub: Send + Sync + 'static {
    /// Fetches the catalogue.
    async fn fetch(&self) -> Result<Vec<Tool>, ToolProviderError>;
}

struct Kept {
    tools: Vec<Tool>,
    at: Duration,
}

/// Lists a remote catalogue; see [`discovery_provider`].
pub struct DiscoveryProvider {
    hub: Arc<dyn DiscoveryHub>,
    id: Str,
    ttl: Duration,
    clock: Arc<dyn Clock>,
    kept: Mutex<Option<Kept>>,
    /// Held while the hub is asked: whoever waits for it finds the fresh list.
    asking: tokio::sync::Mutex<()>,
}

/// A provider that keeps what `hub` answered for `ttl`. However many runs ask at once, the hub is asked once; a failed answer is
/// not kept. A caller whose run is cancelled stops waiting.
pub fn discovery_provider(hub: impl DiscoveryHub, id: impl Into<Str>, ttl: Duration) -> DiscoveryProvider {
    DiscoveryProvider {
        hub: Arc::new(hub),
        id: id.into(),
        ttl,
        clock: Arc::new(SystemClock::new()),
        kept: Mutex::default(),
        asking: tokio::sync::Mutex::new(()),
    }
}

impl DiscoveryProvider {
    /// Measures the age of the kept list by another clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    fn fresh(&self) -> Option<Vec<Tool>> {
        let kept = lock(&self.kept);
        let kept = kept.as_ref()?;
        (self.clock.monotonic().saturating_sub(kept.at) < self.ttl).then(|| kept.tools.clone())
    }

    async fn ask(&self) -> Result<Vec<Tool>, ToolProviderError> {
        let _one = self.asking.lock().await;
        if let Some(tools) = self.fresh() {
            return Ok(tools);
        }
        let tools = self.hub.fetch().await.map_err(|error| error.provider(&*self.id))?;
        *lock(&self.kept) = Some(Kept { tools: tools.clone(), at: self.clock.monotonic() });
        Ok(tools)
    }
}

#[async_trait]
impl ToolProvider for DiscoveryProvider {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    async fn list(&self, ctx: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError> {
        if let Some(tools) = self.fresh() {
            return Ok(tools);
        }
        tokio::select! {
            biased;
            () = ctx.cancel.cancelled() => {
                Err(ToolProviderError::new("the run was cancelled while the catalogue was fetched").provider(&*self.id))
            }
            tools = self.ask() => tools,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use footprint::clock::ManualClock;
    use footprint::value::Value;
    use tokio::sync::Notify;

    use super::*;

    #[derive(Default)]
    struct Hub {
        asked: AtomicUsize,
        open: Notify,
        fails: AtomicUsize,
    }

    #[async_trait]
    impl DiscoveryHub for Arc<Hub> {
        async fn fetch(&self) -> Result<Vec<Tool>, ToolProviderError> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            self.open.notified().await;
            if self.fails.load(Ordering::SeqCst) > 0 {
                self.fails.fetch_sub(1, Ordering::SeqCst);
                return Err(ToolProviderError::new("unreachable"));
            }
            Ok(vec![Tool::builder("far").handler(|_: Value, _| async { "done" }).build().unwrap()])
        }
    }

    /// Proves TOOL-20: one flight for all callers, kept for its time, and cancellable.
    #[tokio::test]
    async fn one_request_serves_all_until_it_is_old() {
        let (hub, clock) = (Arc::new(Hub::default()), Arc::new(ManualClock::at(0)));
        let provider = Arc::new(
            discovery_provider(Arc::clone(&hub), "far-tools", Duration::from_secs(60))
                .with_clock(clock.clone()),
        );
        let ctx = ToolListContext::detached();
        hub.open.notify_one();
        let (a, b) = tokio::join!(provider.list(&ctx), provider.list(&ctx));
        assert_eq!((a.unwrap().len(), b.unwrap().len(), hub.asked.load(Ordering::SeqCst)), (1, 1, 1));
        clock.advance_ms(59_000);
        assert_eq!(provider.list(&ctx).await.unwrap().len(), 1);
        assert_eq!(hub.asked.load(Ordering::SeqCst), 1);
        clock.advance_ms(1_000);
        // A failure is told and not kept.
        hub.fails.store(1, Ordering::SeqCst);
        hub.open.notify_one();
        let failed = provider.list(&ctx).await.unwrap_err();
        assert_eq!(failed.to_string(), "tool provider `far-tools` failed: unreachable");
        hub.open.notify_one();
        assert_eq!(provider.list(&ctx).await.unwrap().len(), 1);
        assert_eq!(hub.asked.load(Ordering::SeqCst), 3);
        // A cancelled caller does not wait for a hub that hangs.
        clock.advance_ms(61_000);
        let gone = ToolListContext::detached();
        gone.cancel.cancel();
        assert!(provider.list(&gone).await.unwrap_err().to_string().contains("cancelled"));
    }
}
