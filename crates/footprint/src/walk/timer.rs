//! Waiting, without tying the walk to a runtime.
//!
//! Inside a tokio runtime with a time driver its timer is used (so paused test time works); anywhere else a
//! thread sleeps and wakes.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::shared::lock;

pub(crate) enum Timer {
    #[allow(dead_code, reason = "only with a runtime")]
    Tokio(Pin<Box<tokio::time::Sleep>>),
    Thread(Arc<Sleeper>),
}

#[derive(Default)]
pub(crate) struct Sleeper {
    done: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Timer {
    pub(crate) fn after(delay: Duration) -> Self {
        #[cfg(feature = "rt")]
        if tokio::runtime::Handle::try_current().is_ok()
            && let Ok(sleep) = std::panic::catch_unwind(|| Box::pin(tokio::time::sleep(delay)))
        {
            return Self::Tokio(sleep);
        }
        let sleeper = Arc::new(Sleeper::default());
        let shared = Arc::clone(&sleeper);
        std::thread::spawn(move || {
            std::thread::sleep(delay);
            shared.done.store(true, Ordering::Release);
            let waker = lock(&shared.waker).take();
            if let Some(waker) = waker {
                waker.wake();
            }
        });
        Self::Thread(sleeper)
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self {
            Self::Tokio(sleep) => sleep.as_mut().poll(cx),
            Self::Thread(sleeper) => {
                *lock(&sleeper.waker) = Some(cx.waker().clone());
                if sleeper.done.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
            }
        }
    }
}

/// Waits for a time, wherever it is awaited.
pub(crate) async fn sleep(delay: Duration) {
    let mut timer = Timer::after(delay);
    std::future::poll_fn(move |cx| timer.poll(cx)).await;
}
