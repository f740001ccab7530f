//! Questions at places where two rules of pausing meet.

use footprint::chart::{Chart, FanOut, ForEach, ForkChild, Mount, Stage, Step};
use footprint::pause::{Ask, FlowchartCheckpoint};
use footprint::report::RunReport;
use footprint::scope::Scope;
use footprint::value;
use footprint::value::Value;
use footprint::walk::RunOptions;

use super::support::*;

/// Answers every question with the next number, through JSON or in the process, and counts the questions.
async fn answered(chart: &Chart, json: bool) -> (RunReport, Vec<Value>) {
    let mut report = chart.run(RunOptions::new()).await;
    let mut questions = Vec::new();
    while let Some(paused) = report.paused() {
        assert!(questions.len() < 12, "asks forever: {questions:?}");
        assert_folds(&report);
        questions.push(paused.question().cloned().unwrap_or_default());
        let answer = questions.len();
        let run = if json {
            let text = paused.checkpoint().to_json();
            let checkpoint = FlowchartCheckpoint::from_json(&text).unwrap();
            assert_eq!(checkpoint.to_json(), text);
            chart.resume(checkpoint, answer as u64, RunOptions::new()).unwrap()
        } else {
            paused.resume(answer as u64).unwrap()
        };
        report = run.await;
    }
    assert_folds(&report);
    (report, questions)
}

/// A pausable stage whose answering half asks twice more from inside.
fn asks_again(id: &'static str) -> Stage {
    Stage::pausable(
        id,
        move |_: Scope| async move { Ok(Step::Pause("first")) },
        move |s: Scope, first: Value| async move {
            let second: Value = s.interrupt(Ask::new("second")).await?;
            let third: Value = s.interrupt(Ask::new("third")).await?;
            s.set_value(id, value!([(first), (second), (third)]))?;
            Ok(value!([(s.value(id)?.unwrap_or_default())]))
        },
    )
}

/// Proves ENG-124, ENG-125: a question asked from inside the answering half comes back to that half, with the answer
/// it had been given; the asking half does not ask again.
#[tokio::test]
async fn the_answering_half_asks() {
    let chart = build(Chart::builder(asks_again("q")).then(mark("after")));
    for json in [false, true] {
        let (report, questions) = answered(&chart, json).await;
        assert_eq!(state(&report), value!({ "q": [1, 2, 3], "after": true }), "json {json}");
        let reasons: Vec<_> = questions.iter().map(|q| q.get("reason").unwrap_or(q).clone()).collect();
        assert_eq!(reasons, [value!("first"), value!("second"), value!("third")]);
    }
    // As queued questions of parallel branches, one of them inside a lazy mount.
    let inner = build(Chart::builder(asks_again("in")));
    let lazy = Mount::lazy("sf", move || inner.clone()).output_keys([("in", "in")]);
    let chart = build(Chart::builder(idle("r")).fork(
        [ForkChild::from(asks_again("one")), lazy.into(), asks_again("two").into()],
        FanOut::AllSettled,
    ));
    let mut states = Vec::new();
    for json in [false, true] {
        let (report, questions) = answered(&chart, json).await;
        assert_eq!(questions.len(), 9);
        states.push(state(&report));
    }
    assert_eq!(states[0], states[1]);
    assert!(states[0]["in"].as_array().is_some_and(|answers| answers.len() == 3), "{}", states[0]);
}

/// Proves ENG-125, ENG-128, ENG-37, ENG-41: parallel questions of generated branches inside a lazy mount that is a
/// branch of a fork, with a stop behind them: everything comes back once, in item order.
#[tokio::test]
async fn generated_branches_in_a_lazy_mount_in_a_fork() {
    let branch = |item: &u64, _| {
        let asks = *item != 2;
        let ask = Stage::pausable(
            "q",
            move |_: Scope| async move { Ok(if asks { Step::Pause("?") } else { Step::Continue }) },
            |s: Scope, answer: Value| async move { Ok(s.set_value("answer", answer)?) },
        );
        let end = Stage::new("end", |s: Scope| async move {
            s.stop("enough")?;
            Ok(value!([(s.value("item")?.unwrap_or_default()), (s.value("answer")?.unwrap_or_default())]))
        });
        build(Chart::builder(ask).then(end).then(mark("never")))
    };
    let lazy = Mount::lazy("sf", move || {
        let each = ForEach::new("each", |_: Scope| Ok(vec![1_u64, 2, 3]), branch).max_branches(3).into("out");
        let counted = Stage::new("pre", |s: Scope| async move {
            let n = s.value("pre")?.and_then(|n| n.as_i64()).unwrap_or(0);
            Ok(s.set_value("pre", n + 1)?)
        });
        build(Chart::builder(counted).for_each(each).then(mark("post")))
    })
    .output_keys([("out", "out"), ("pre", "pre"), ("post", "post")]);
    let chart = build(
        Chart::builder(idle("r"))
            .fork([ForkChild::from(lazy), mark("side").into()], FanOut::FailFast)
            .then(mark("after")),
    );
    for json in [false, true] {
        let (report, questions) = answered(&chart, json).await;
        assert_eq!(questions.len(), 2);
        assert_eq!(
            state(&report),
            value!({
                "runs": { "side": { "side": true } },
                "out": [[1, 1], [2, null], [3, 2]], "pre": 1, "post": true, "after": true
            }),
            "json {json}"
        );
    }
}

/// Proves ENG-112, ENG-124: a stop asked before the pause belongs to the visit that paused; an interrupted stage runs
/// again and asks for it again, the answering half of a pausable stage decides anew.
#[tokio::test]
async fn stopping_and_pausing() {
    let pausable = |again: bool| {
        let ask = |s: Scope| async move {
            s.stop("first half")?;
            Ok(Step::Pause("?"))
        };
        let answer = move |s: Scope, _: Value| async move {
            Ok(if again {
                s.stop("second half")?
            })
        };
        build(Chart::builder(Stage::pausable("q", ask, answer)).then(mark("after")))
    };
    let interrupted = Stage::new("q", |s: Scope| async move {
        s.stop("from the top")?;
        let _: Value = s.interrupt(Ask::new("?")).await?;
        Ok(())
    });
    let interrupted = build(Chart::builder(interrupted).then(mark("after")));
    for json in [false, true] {
        for (chart, goes_on) in
            [(pausable(false), true), (pausable(true), false), (interrupted.clone(), false)]
        {
            let (report, questions) = answered(&chart, json).await;
            assert_eq!(questions.len(), 1);
            completed(&report);
            assert_eq!(report.state().contains_key("after"), goes_on, "json {json}");
        }
    }
}
