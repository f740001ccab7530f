use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::*;
use crate::chart::{Chart, Stage, Step};
use crate::error::StageError;
use crate::scope::Scope;
use crate::value;

fn tokio_spawner() -> Spawner {
    Spawner::new(|future| drop(tokio::spawn(future)))
}

fn answering(answer: u64) -> Chart {
    Chart::builder(Stage::new("child", move |_: Scope| async move { Ok(answer) })).build().unwrap()
}

fn failing() -> Chart {
    let fail = |_: Scope| async { Err::<(), _>(StageError::named("NetError", "unreachable")) };
    Chart::builder(Stage::new("child", fail)).build().unwrap()
}

fn drivers() -> Vec<Arc<dyn DetachDriver>> {
    let spawner = tokio_spawner();
    vec![
        Arc::new(SpawnDriver(spawner.clone())),
        Arc::new(ImmediateDriver(spawner.clone())),
        Arc::new(DelayedDriver::new(spawner.clone(), Duration::from_millis(1))),
        Arc::new(BatchDriver::new(spawner)),
        Arc::new(BlockingDriver),
    ]
}

/// Proves ENG-44, ENG-45: every driver runs a child to its end, and any number of waiters get the same answer.
#[tokio::test]
async fn every_driver_runs_children() {
    let mut names = Vec::new();
    for driver in drivers() {
        let detacher = Detacher::new();
        let done = detacher.detach(&driver, &answering(7), None);
        let failed = detacher.detach(&driver, &failing(), Some(value!({ "a": 1 })));
        let (first, second) = (done.clone(), done.clone());
        let waiting = tokio::spawn(async move { first.wait().await });
        assert_eq!(second.wait().await, Ok(Some(value!(7))));
        assert_eq!(waiting.await.unwrap(), Ok(Some(value!(7))));
        assert_eq!((done.status(), done.result(), done.error()), (DetachStatus::Done, Some(value!(7)), None));
        let error = failed.wait().await.unwrap_err();
        assert_eq!((error.name.as_deref(), &*error.message), (Some("NetError"), "unreachable"));
        assert_eq!(
            (failed.status(), failed.result(), failed.error()),
            (DetachStatus::Failed, None, Some(error))
        );
        names.push(driver.name().to_owned());
    }
    assert_eq!(names, ["spawn", "immediate", "delayed", "batch", "blocking"]);
}

/// Proves ENG-45: a status only moves forward, the immediate driver marks its child at once, and dropping a handle cancels nothing.
#[tokio::test]
async fn statuses_move_one_way() {
    let detacher = Detacher::new();
    let spawn: Arc<dyn DetachDriver> = Arc::new(SpawnDriver(tokio_spawner()));
    let immediate: Arc<dyn DetachDriver> = Arc::new(ImmediateDriver(tokio_spawner()));
    let queued = detacher.detach(&spawn, &answering(1), None);
    let running = detacher.detach(&immediate, &answering(2), None);
    assert_eq!((queued.status(), running.status()), (DetachStatus::Queued, DetachStatus::Running));
    assert!(DetachStatus::Queued < DetachStatus::Running && !DetachStatus::Running.is_settled());
    drop((queued, running));
    let report = detacher.flush_default().await;
    assert_eq!(report, FlushReport { done: 2, failed: 0, pending: 0 });
}

/// Proves ENG-45: reference ids count per detacher.
#[tokio::test]
async fn reference_ids_count_per_detacher() {
    let driver: Arc<dyn DetachDriver> = Arc::new(SpawnDriver(tokio_spawner()));
    for _ in 0..2 {
        let detacher = Detacher::new();
        let outside = detacher.detach(&driver, &answering(1), None);
        let inside =
            detacher.start(&driver, answering(1), crate::walk::RunOptions::new(), "sf/stage#3", None);
        assert_eq!((outside.id(), inside.id()), ("__executor__:detach:1", "sf/stage#3:detach:2"));
        assert_eq!(detacher.ids(), [outside.id().into(), inside.id().into()] as [crate::value::Str; 2]);
        assert_eq!(detacher.in_flight(), 2);
        detacher.flush_default().await;
        assert!(detacher.ids().is_empty());
    }
}

/// Proves ENG-44: scheduling problems never fail outward; they settle the handle.
#[tokio::test]
async fn scheduling_problems_settle_the_handle() {
    struct Loses;
    impl DetachDriver for Loses {
        fn name(&self) -> &str {
            "loses"
        }
        fn schedule(&self, task: DetachTask) {
            drop(task);
        }
    }
    struct Refuses;
    impl DetachDriver for Refuses {
        fn name(&self) -> &str {
            "refuses"
        }
        fn schedule(&self, task: DetachTask) {
            task.fail("the queue is full");
        }
    }
    let dropping = Spawner::new(drop);
    let cases: [(Arc<dyn DetachDriver>, &str); 4] = [
        (Arc::new(Loses), "dropped before its end"),
        (Arc::new(Refuses), "the queue is full"),
        (Arc::new(SpawnDriver(dropping.clone())), "dropped before its end"),
        (Arc::new(BatchDriver::new(dropping)), "dropped before its end"),
    ];
    for (driver, message) in cases {
        let detacher = Detacher::new();
        for _ in 0..2 {
            let handle = detacher.detach(&driver, &answering(1), None);
            assert_eq!(handle.status(), DetachStatus::Failed);
            assert!(handle.wait().await.unwrap_err().message.contains(message));
        }
        assert_eq!(detacher.in_flight(), 0);
    }
}

/// Proves ENG-46: a child that pauses has failed; nobody can answer it.
#[tokio::test]
async fn a_pausing_child_has_failed() {
    let ask = Stage::pausable(
        "ask",
        |_: Scope| async { Ok(Step::Pause("?")) },
        |_: Scope, _: bool| async { Ok(()) },
    );
    let driver: Arc<dyn DetachDriver> = Arc::new(BlockingDriver);
    let handle = Detacher::new().detach(&driver, &Chart::builder(ask).build().unwrap(), None);
    assert!(handle.wait().await.unwrap_err().message.contains("paused"));
}

/// Proves ENG-46: a flush waits for children of children, and says what is left when its time is up.
#[tokio::test(start_paused = true)]
async fn flushing_is_transitive_and_bounded() {
    let spawn: Arc<dyn DetachDriver> = Arc::new(SpawnDriver(tokio_spawner()));
    let slow: Arc<dyn DetachDriver> = Arc::new(DelayedDriver::new(tokio_spawner(), Duration::from_secs(5)));
    let detacher = Detacher::new();
    let parent = Chart::builder(Stage::new("parent", |_: Scope| async { Ok(()) }))
        .detach_forget(Detach::new("late", slow.clone(), &failing()).input(|_| Ok(value!(1))))
        .build()
        .unwrap();
    detacher.detach(&spawn, &parent, None);
    assert_eq!(detacher.flush(Duration::from_secs(60)).await, FlushReport { done: 1, failed: 1, pending: 0 });

    detacher.detach(&slow, &answering(1), None);
    assert_eq!(detacher.flush(Duration::from_secs(1)).await, FlushReport { done: 0, failed: 0, pending: 1 });
    assert_eq!(detacher.flush(Duration::from_secs(60)).await, FlushReport { done: 1, failed: 0, pending: 0 });
}

/// Proves ENG-46: listeners hear every end, the failure callback comes first, and a panicking listener stops nobody.
#[tokio::test]
async fn ends_are_told() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let detacher = Detacher::new();
    detacher.on_settled(|_| panic!("listener"));
    let note = heard.clone();
    detacher.on_settled(move |settled: &Settled| {
        let error = settled.error.as_ref().map(|error| error.message.clone());
        note.lock().unwrap().push(format!("{} {:?} {error:?}", settled.id, settled.status));
    });
    let driver: Arc<dyn DetachDriver> = Arc::new(BatchDriver::new(tokio_spawner()));
    let note = heard.clone();
    let settled: detacher::EndFn = Box::new(move |end| {
        note.lock().unwrap().push(format!("first {}", end.error.as_ref().unwrap().message))
    });
    let told = detacher::Told { scheduled: Box::new(|_| {}), settled };
    detacher.start(&driver, failing(), crate::walk::RunOptions::new(), "s#0", Some(told));
    detacher.start(&driver, answering(1), crate::walk::RunOptions::new(), "s#0", None);
    detacher.flush_default().await;
    assert_eq!(
        *heard.lock().unwrap(),
        ["first unreachable", "s#0:detach:1 Failed Some(\"unreachable\")", "s#0:detach:2 Done None"]
    );
}

/// Proves ENG-44: the join stage hands its handle over; the stage itself goes on at once.
#[tokio::test]
async fn a_join_stage_hands_its_handle_over() {
    let kept: Arc<Mutex<Option<DetachHandle>>> = Arc::default();
    let keep = kept.clone();
    let driver: Arc<dyn DetachDriver> = Arc::new(SpawnDriver(tokio_spawner()));
    let detach = Detach::new("bg", driver.clone(), &answering(9))
        .named("Background")
        .describe("audits")
        .on_handle(move |_, handle| {
            *keep.lock().unwrap() = Some(handle);
        });
    let chart =
        Chart::builder(Stage::new("seed", |_: Scope| async { Ok(()) })).detach_join(detach).build().unwrap();
    let node = chart.structure().find("bg").unwrap();
    assert_eq!(
        (&*node.name, node.description.as_deref(), node.node_type.as_str()),
        ("Background", Some("audits"), "stage")
    );
    let detacher = Detacher::new();
    detacher.detach(&driver, &chart, None);
    assert_eq!(detacher.flush_default().await.done, 2);
    let handle = kept.lock().unwrap().take().unwrap();
    assert_eq!(handle.result(), Some(value!(9)));
}

/// Proves ENG-44: a batch runs its children one after another in one task.
#[tokio::test]
async fn a_batch_is_one_task() {
    let spawned = Arc::new(AtomicUsize::new(0));
    let count = spawned.clone();
    let spawner = Spawner::new(move |future| {
        count.fetch_add(1, Ordering::Relaxed);
        drop(tokio::spawn(future));
    });
    let driver: Arc<dyn DetachDriver> = Arc::new(BatchDriver::new(spawner));
    let detacher = Detacher::new();
    for _ in 0..3 {
        detacher.detach(&driver, &answering(1), None);
    }
    assert_eq!(detacher.flush_default().await.done, 3);
    assert_eq!(spawned.load(Ordering::Relaxed), 1);
    detacher.detach(&driver, &answering(1), None);
    assert_eq!(detacher.flush_default().await.done, 1);
    assert_eq!(spawned.load(Ordering::Relaxed), 2);
}
