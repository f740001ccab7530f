//! Detached children as the starting run observes them (OBS §13).

use std::sync::Arc;

use super::frame::FrameHandle;
use super::options::RunOptions;
use crate::chart::Chart;
use crate::detach::{DetachDriver, DetachHandle, Detacher};
use crate::observe::{EmitEvent, Hook};
use crate::value::{Object, Value};

/// Starts a child for a stage. Both ends are told on the starting run's emit channel, the second one only
/// while that run is open; afterwards `Detacher::on_settled` is the place to listen.
pub(crate) fn start(
    frame: &Arc<FrameHandle>,
    detacher: &Detacher,
    driver: &Arc<dyn DetachDriver>,
    child: Chart,
    options: RunOptions,
) -> DetachHandle {
    let root = child.root_id().to_owned();
    let starter = Arc::clone(frame);
    let name = driver.name().to_owned();
    let on_failed = Box::new(move |error: &crate::error::StructuredError| {
        if starter.run.is_closed() {
            return;
        }
        starter.tell(Hook::Emit, || {
            let mut payload = Object::new();
            payload.insert("driver", Value::from(name.as_str()));
            payload.insert("status", Value::from("failed"));
            payload.insert("error", error.to_value());
            EmitEvent { name: "detach.settled".into(), payload: Value::Object(payload) }.into()
        });
    });
    let handle = detacher.start(driver, child, options, frame.address(), Some(on_failed));
    frame.tell(Hook::Emit, || {
        let mut payload = Object::new();
        payload.insert("refId", Value::from(handle.id()));
        payload.insert("driver", Value::from(driver.name()));
        payload.insert("childRoot", Value::from(root.as_str()));
        EmitEvent { name: "detach.scheduled".into(), payload: Value::Object(payload) }.into()
    });
    handle
}
