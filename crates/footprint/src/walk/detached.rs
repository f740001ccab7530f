//! Detached children as the starting run observes them (OBS §13).

use std::sync::Arc;

use super::frame::FrameHandle;
use super::options::RunOptions;
use super::shared::millis;
use crate::chart::Chart;
use crate::detach::{DetachDriver, DetachHandle, Detacher, Settled, Told};
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
    let started = frame.run.clock.monotonic();
    let settled = Box::new(move |end: &Settled| {
        if starter.run.is_closed() {
            return;
        }
        starter.tell(Hook::Emit, || {
            let took = starter.run.clock.monotonic().saturating_sub(started);
            let mut payload = Object::new();
            payload.insert("refId", Value::from(end.id.clone()));
            payload.insert("driver", Value::from(name.as_str()));
            payload.insert("status", Value::from(end.status.as_str()));
            payload.insert("durationMs", Value::from(millis(took)));
            if let Some(error) = &end.error {
                payload.insert("error", starter.served_error(error.clone()).to_value());
            }
            EmitEvent { name: "detach.settled".into(), payload: Value::Object(payload) }.into()
        });
    });
    let (starter, driver_name) = (Arc::clone(frame), driver.name().to_owned());
    let scheduled = Box::new(move |ref_id: &str| {
        starter.tell(Hook::Emit, || {
            let mut payload = Object::new();
            payload.insert("refId", Value::from(ref_id));
            payload.insert("driver", Value::from(driver_name.as_str()));
            payload.insert("childRoot", Value::from(root.as_str()));
            EmitEvent { name: "detach.scheduled".into(), payload: Value::Object(payload) }.into()
        });
    });
    detacher.start(driver, child, options, frame.address(), Some(Told { scheduled, settled }))
}
