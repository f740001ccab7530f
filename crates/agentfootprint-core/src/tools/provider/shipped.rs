//! The providers that come along: a fixed list, a filter, and a list for one skill (TOOL-20).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use footprint::value::Str;
use thiserror::Error;

use super::{ToolListContext, ToolProvider, ToolProviderError};
use crate::tools::tool::Tool;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Always the same tools; see [`static_tools`].
#[derive(Clone, Debug)]
pub struct StaticTools(Arc<[Tool]>);

/// A provider of a fixed list, in its order. The list is copied: what the caller does with theirs changes nothing.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use agentfootprint_core::tools::{Tool, ToolListContext, ToolProvider, static_tools};
/// let tool = Tool::builder("now").handler(|_: footprint::value::Value, _| async { "noon" }).build()?;
/// let provider = static_tools([tool]);
/// assert_eq!(provider.list(&ToolListContext::detached()).await?[0].name(), "now");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub fn static_tools(tools: impl IntoIterator<Item = Tool>) -> StaticTools {
    StaticTools(tools.into_iter().collect())
}

#[async_trait]
impl ToolProvider for StaticTools {
    fn id(&self) -> Option<&str> {
        Some("static")
    }

    async fn list(&self, _ctx: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError> {
        Ok(self.0.to_vec())
    }
}

/// The tools of another provider that a predicate lets through; see [`gated_tools`].
pub struct GatedTools<P> {
    inner: P,
    admits: Box<dyn Fn(&str, &ToolListContext) -> Result<bool, BoxError> + Send + Sync>,
}

/// Filters another provider by name; gates may be put around gates. A predicate that fails fails the list: a broken gate never
/// opens.
pub fn gated_tools<P: ToolProvider>(
    inner: P,
    admits: impl Fn(&str, &ToolListContext) -> Result<bool, BoxError> + Send + Sync + 'static,
) -> GatedTools<P> {
    GatedTools { inner, admits: Box::new(admits) }
}

#[async_trait]
impl<P: ToolProvider> ToolProvider for GatedTools<P> {
    fn id(&self) -> Option<&str> {
        Some("gated")
    }

    async fn list(&self, ctx: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError> {
        let mut kept = Vec::new();
        for tool in self.inner.list(ctx).await? {
            match (self.admits)(tool.name(), ctx) {
                Ok(true) => kept.push(tool),
                Ok(false) => {}
                Err(error) => {
                    let what = format!("the gate could not judge `{}`: {error}", tool.name());
                    return Err(ToolProviderError::new(what).provider("gated"));
                }
            }
        }
        Ok(kept)
    }
}

/// Tools of one skill; see [`skill_scoped_tools`].
#[derive(Debug)]
pub struct SkillScopedTools {
    id: String,
    skill: Str,
    tools: Arc<[Tool]>,
    warned: AtomicBool,
}

/// A skill-scoped provider without a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("skill_scoped_tools needs the id of a skill, got blank text")]
pub struct BlankSkillId;

/// Lists its tools only while `skill` is the one the model activated last. A skill that is active in another way is a common
/// mistake; it is said once.
///
/// # Errors
/// [`BlankSkillId`] when the id is blank.
pub fn skill_scoped_tools(
    skill: impl Into<Str>,
    tools: impl IntoIterator<Item = Tool>,
) -> Result<SkillScopedTools, BlankSkillId> {
    let skill = skill.into();
    if skill.trim().is_empty() {
        return Err(BlankSkillId);
    }
    Ok(SkillScopedTools {
        id: format!("skill-scoped:{skill}"),
        skill,
        tools: tools.into_iter().collect(),
        warned: AtomicBool::new(false),
    })
}

impl SkillScopedTools {
    /// True once: the skill is active, but was not activated by the model.
    fn first_mismatch(&self, ctx: &ToolListContext) -> bool {
        ctx.active_skill_ids.contains(&self.skill) && !self.warned.swap(true, Ordering::Relaxed)
    }
}

#[async_trait]
impl ToolProvider for SkillScopedTools {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }

    async fn list(&self, ctx: &ToolListContext) -> Result<Vec<Tool>, ToolProviderError> {
        if ctx.active_skill_id.as_ref() == Some(&self.skill) {
            return Ok(self.tools.to_vec());
        }
        if self.first_mismatch(ctx) {
            tracing::warn!(
                target: "agentfootprint",
                provider = %self.id,
                "skill `{}` is active, but it is not the one the model activated last: its scoped tools are not listed",
                self.skill
            );
        }
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use footprint::value::Value;

    use super::*;

    fn tool(name: &str) -> Tool {
        Tool::builder(name.to_owned()).handler(|_: Value, _| async { "done" }).build().unwrap()
    }

    async fn names(provider: &dyn ToolProvider, ctx: &ToolListContext) -> Vec<String> {
        provider.list(ctx).await.unwrap().iter().map(|tool| tool.name().to_owned()).collect()
    }

    /// Proves TOOL-20: order kept, gates at any depth, a gate that cannot judge fails the list.
    #[tokio::test]
    async fn lists_and_gates() {
        let ctx = ToolListContext::detached();
        let all = static_tools(["c", "a", "b"].map(tool));
        assert_eq!(
            (all.id(), names(&all, &ctx).await),
            (Some("static"), vec!["c".into(), "a".into(), "b".into()])
        );
        let outer =
            gated_tools(gated_tools(all.clone(), |name, _| Ok(name != "a")), |name, _| Ok(name != "c"));
        assert_eq!((outer.id(), names(&outer, &ctx).await), (Some("gated"), vec!["b".to_owned()]));
        let broken = gated_tools(all, |_, _| Err("no policy".into()));
        assert_eq!(
            broken.list(&ctx).await.unwrap_err().to_string(),
            "tool provider `gated` failed: the gate could not judge `c`: no policy"
        );
    }

    /// Proves TOOL-20, TOOL-19: scoped on the skill the model activated, not on any active one.
    #[tokio::test]
    async fn a_scoped_list_follows_the_skill_the_model_activated() {
        assert_eq!(
            skill_scoped_tools(" ", []).unwrap_err().to_string(),
            "skill_scoped_tools needs the id of a skill, got blank text"
        );
        let scoped = skill_scoped_tools("billing", [tool("refund")]).unwrap();
        assert_eq!(scoped.id(), Some("skill-scoped:billing"));
        let on = ToolListContext::detached().with_active_skills(["billing"]);
        assert_eq!(names(&scoped, &on).await, ["refund"]);
        let mut by_rule = ToolListContext::detached();
        by_rule.active_skill_ids = vec!["billing".into()];
        assert!(names(&scoped, &by_rule).await.is_empty());
        assert!(!scoped.first_mismatch(&by_rule), "the warning is latched");
        assert!(names(&scoped, &ToolListContext::detached()).await.is_empty());
    }
}
