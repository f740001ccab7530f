//! Providers from a configuration file, and from whatever the environment offers.
//!
//! A configuration never holds a secret: it names the variable a key stands in (`keyEnv`), or leaves it to the adapter's
//! own, or the program gives a key to the [`ProviderFactory`]. Kinds that are not built in are refused by name.

use std::sync::Arc;

use agentfootprint_core::llm::{LlmError, LlmErrorKind, LlmProvider};
use serde::{Deserialize, Serialize};

use crate::{EnvVars, Mock};
#[cfg(feature = "http")]
use crate::{Key, http::HttpExchange};

/// A provider, as a configuration file says it.
///
/// ```
/// use agentfootprint_core::llm::LlmProvider;
/// use agentfootprint_providers::{ProviderConfig, create_provider};
///
/// let config: ProviderConfig = serde_json::from_str(r#"{"kind": "mock", "reply": "ready"}"#)?;
/// assert_eq!(create_provider(&config)?.name(), "mock");
///
/// let unknown = serde_json::from_str::<ProviderConfig>(r#"{"kind": "cohere"}"#).unwrap_err();
/// assert!(unknown.to_string().contains("`cohere`"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum ProviderConfig {
    /// The scripted provider; without a reply it echoes.
    Mock {
        /// The reply to every request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<String>,
    },
    /// Anthropic's Messages API.
    Anthropic {
        /// The variable the key stands in; `ANTHROPIC_API_KEY` unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_env: Option<String>,
        /// Another address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_url: Option<String>,
        /// What the shorthand `anthropic` means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default_model: Option<String>,
    },
    /// OpenAI, or with a base URL any compatible server.
    Openai {
        /// The variable the key stands in; `OPENAI_API_KEY` unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_env: Option<String>,
        /// Another address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_url: Option<String>,
        /// What the shorthand `openai` means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default_model: Option<String>,
    },
    /// Azure OpenAI. What is not given is read from the variables of [`OpenAi::azure`](crate::openai::OpenAi::azure).
    AzureOpenai {
        /// The variable the key stands in; `AZURE_OPENAI_API_KEY` unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_env: Option<String>,
        /// The address of the resource.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        endpoint: Option<String>,
        /// The deployment.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deployment: Option<String>,
        /// The version of the API.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        api_version: Option<String>,
    },
    /// Ollama.
    Ollama {
        /// The address; `OLLAMA_HOST`, else this machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        base_url: Option<String>,
        /// The variable the key of a hosted server stands in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_env: Option<String>,
        /// What the shorthand `ollama` means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default_model: Option<String>,
        /// The size of the context in tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        num_ctx: Option<u64>,
    },
    /// Amazon Bedrock.
    Bedrock {
        /// The region; `AWS_REGION` unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        region: Option<String>,
        /// The variable a Bedrock API key stands in; AWS's own variables unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_env: Option<String>,
        /// What the shorthand `bedrock` means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default_model: Option<String>,
    },
    /// Gemini, through the Gemini API, or with a project through Vertex AI.
    Gemini {
        /// The variable the key stands in; `GEMINI_API_KEY` or `GOOGLE_API_KEY` unless given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key_env: Option<String>,
        /// The project, which means Vertex AI.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
        /// The location of Vertex AI.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        location: Option<String>,
        /// What the shorthand `gemini` means.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default_model: Option<String>,
    },
}

/// Makes providers from configurations. It holds what a configuration must not or cannot.
#[derive(Clone, Default)]
#[must_use]
pub struct ProviderFactory {
    env: EnvVars,
    #[cfg(feature = "http")]
    key: Option<Key>,
    #[cfg(feature = "http")]
    exchange: Option<Arc<dyn HttpExchange>>,
}

/// The provider of a configuration, with keys from the process's environment.
///
/// # Errors
/// When the kind is not built in, or a setting is missing or can never work; the message names it.
pub fn create_provider(config: &ProviderConfig) -> Result<Arc<dyn LlmProvider>, LlmError> {
    ProviderFactory::default().create(config)
}

/// Gives a builder what is there to give.
#[cfg(feature = "http")]
macro_rules! given {
    ($builder:expr, $($option:ident: $value:expr),* $(,)?) => {{
        let mut builder = $builder;
        $(if let Some(value) = $value.clone() { builder = builder.$option(value); })*
        builder
    }};
}

impl ProviderFactory {
    /// Where variables are read; the process's own unless given.
    pub fn env(mut self, env: EnvVars) -> Self {
        self.env = env;
        self
    }

    /// The key of the provider, in place of a variable.
    #[cfg(feature = "http")]
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sends requests through something else than the network.
    #[cfg(feature = "http")]
    pub fn exchange(mut self, exchange: Arc<dyn HttpExchange>) -> Self {
        self.exchange = Some(exchange);
        self
    }

    /// The provider of a configuration.
    ///
    /// # Errors
    /// As [`create_provider`].
    pub fn create(&self, config: &ProviderConfig) -> Result<Arc<dyn LlmProvider>, LlmError> {
        match config {
            ProviderConfig::Mock { reply: Some(reply) } => Ok(Arc::new(Mock::always(reply.as_str()))),
            ProviderConfig::Mock { reply: None } => Ok(Arc::new(Mock::new())),
            #[cfg(feature = "anthropic")]
            ProviderConfig::Anthropic { key_env, base_url, default_model } => {
                let builder = crate::Anthropic::builder().env(self.env.clone());
                let builder = given!(builder, key: self.key_from(key_env)?, exchange: self.exchange);
                Ok(Arc::new(given!(builder, base_url: base_url, default_model: default_model).build()?))
            }
            #[cfg(feature = "openai")]
            ProviderConfig::Openai { key_env, base_url, default_model } => {
                let builder = crate::OpenAi::builder().env(self.env.clone());
                let builder = given!(builder, key: self.key_from(key_env)?, exchange: self.exchange);
                Ok(Arc::new(given!(builder, base_url: base_url, default_model: default_model).build()?))
            }
            #[cfg(feature = "openai")]
            ProviderConfig::AzureOpenai { key_env, endpoint, deployment, api_version } => {
                let builder = crate::OpenAi::azure().env(self.env.clone());
                let builder = given!(builder, key: self.key_from(key_env)?, exchange: self.exchange);
                let builder =
                    given!(builder, endpoint: endpoint, deployment: deployment, api_version: api_version);
                Ok(Arc::new(builder.build()?))
            }
            #[cfg(feature = "ollama")]
            ProviderConfig::Ollama { base_url, key_env, default_model, num_ctx } => {
                let builder = crate::Ollama::builder().env(self.env.clone());
                let builder = given!(builder, key: self.key_from(key_env)?, exchange: self.exchange);
                let builder = given!(builder, base_url: base_url, default_model: default_model);
                let builder = match num_ctx {
                    Some(tokens) => builder.num_ctx(*tokens),
                    None => builder,
                };
                Ok(Arc::new(builder.build()?))
            }
            #[cfg(feature = "bedrock")]
            ProviderConfig::Bedrock { region, key_env, default_model } => {
                let builder = crate::Bedrock::builder().env(self.env.clone());
                let builder = given!(builder, key: self.key_from(key_env)?, exchange: self.exchange);
                Ok(Arc::new(given!(builder, region: region, default_model: default_model).build()?))
            }
            #[cfg(feature = "gemini")]
            ProviderConfig::Gemini { key_env, project, location, default_model } => {
                let builder = crate::Gemini::builder().env(self.env.clone());
                let key = self.key_from(key_env)?;
                // Vertex AI takes a token where the Gemini API takes a key.
                let builder = match project {
                    Some(project) => given!(builder.project(project.clone()), access_token: key),
                    None => given!(builder, key: key),
                };
                let builder = given!(builder, exchange: self.exchange, location: location);
                Ok(Arc::new(given!(builder, default_model: default_model).build()?))
            }
            #[allow(unreachable_patterns, reason = "no kind is left when every feature is on")]
            other => Err(not_built_in(other.kind())),
        }
    }

    /// The key given, else the one in the named variable; none leaves it to the adapter.
    #[cfg(any(
        feature = "anthropic",
        feature = "openai",
        feature = "ollama",
        feature = "bedrock",
        feature = "gemini"
    ))]
    fn key_from(&self, key_env: &Option<String>) -> Result<Option<Key>, LlmError> {
        let Some(name) = key_env.as_ref().filter(|_| self.key.is_none()) else { return Ok(self.key.clone()) };
        let missing = || {
            let message =
                format!("`keyEnv` names the variable {name}, which is not set; set it, or take `keyEnv` out");
            LlmError::new(LlmErrorKind::NoCredential, "provider", message)
        };
        self.env.get(name).map(|key| Some(Key::from(key))).ok_or_else(missing)
    }
}

impl ProviderConfig {
    /// The word a configuration says for this kind.
    pub fn kind(&self) -> &'static str {
        match self {
            ProviderConfig::Mock { .. } => "mock",
            ProviderConfig::Anthropic { .. } => "anthropic",
            ProviderConfig::Openai { .. } => "openai",
            ProviderConfig::AzureOpenai { .. } => "azure-openai",
            ProviderConfig::Ollama { .. } => "ollama",
            ProviderConfig::Bedrock { .. } => "bedrock",
            ProviderConfig::Gemini { .. } => "gemini",
        }
    }
}

fn not_built_in(kind: &str) -> LlmError {
    let feature = kind.strip_prefix("azure-").unwrap_or(kind);
    let message =
        format!("the provider kind `{kind}` is not built in; switch the cargo feature `{feature}` on");
    LlmError::new(LlmErrorKind::Refused, "provider", message)
}

/// What [`provider_from_env`] found.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProviderChoice {
    /// The provider.
    pub provider: Arc<dyn LlmProvider>,
    /// The model to ask it for.
    pub model: String,
    /// Its kind, as a configuration says it.
    pub kind: &'static str,
}

impl std::fmt::Debug for ProviderChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProviderChoice")
            .field("kind", &self.kind)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// The first provider the environment offers. Nothing is asked over the network.
///
/// | in this order | variables | model |
/// |---|---|---|
/// | `ollama` | `OLLAMA_MODEL` (`OLLAMA_HOST` alone is no choice) | `OLLAMA_MODEL` |
/// | `azure-openai` | `AZURE_OPENAI_API_KEY` and `AZURE_OPENAI_ENDPOINT`, with a deployment and a version | the deployment |
/// | `anthropic` | `ANTHROPIC_API_KEY` | `LLM_MODEL`, else the adapter's own |
/// | `openai` | `OPENAI_API_KEY`, and `OPENAI_BASE_URL` if set | `LLM_MODEL`, else the adapter's own |
/// | `mock` | none, when `fallback_to_mock` | `mock` |
///
/// # Errors
/// When nothing is offered, the message lists every way; when what is offered is incomplete or not built in, it names
/// what is missing.
///
/// ```
/// use agentfootprint_providers::{EnvVars, provider_from_env};
///
/// let nothing = EnvVars::from_pairs([("HOME", "/root")]);
/// assert_eq!(provider_from_env(&nothing, true)?.kind, "mock");
/// let message = provider_from_env(&nothing, false).unwrap_err().to_string();
/// assert!(message.contains("OLLAMA_MODEL") && message.contains("OPENAI_API_KEY"));
/// # Ok::<(), agentfootprint_core::llm::LlmError>(())
/// ```
pub fn provider_from_env(env: &EnvVars, fallback_to_mock: bool) -> Result<ProviderChoice, LlmError> {
    let factory = ProviderFactory::default().env(env.clone());
    let chosen = |config: ProviderConfig, model: String| {
        let kind = config.kind();
        Ok(ProviderChoice { provider: factory.create(&config)?, model, kind })
    };
    let model = |shorthand: &str| env.get("LLM_MODEL").unwrap_or_else(|| shorthand.to_owned());
    if let Some(model) = env.get("OLLAMA_MODEL") {
        let default_model = Some(model.clone());
        let config = ProviderConfig::Ollama { base_url: None, key_env: None, default_model, num_ctx: None };
        return chosen(config, model);
    }
    if env.get("AZURE_OPENAI_API_KEY").is_some() && env.get("AZURE_OPENAI_ENDPOINT").is_some() {
        let deployment = env.first(&["AZURE_OPENAI_DEPLOYMENT", "MODEL_NAME"]).map(|(_, name)| name);
        let Some(deployment) = deployment else {
            let message = "AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT are set, and no deployment; set \
                 AZURE_OPENAI_DEPLOYMENT";
            return Err(LlmError::new(LlmErrorKind::Refused, "provider", message));
        };
        let config = ProviderConfig::AzureOpenai {
            key_env: None,
            endpoint: None,
            deployment: Some(deployment.clone()),
            api_version: None,
        };
        return chosen(config, deployment);
    }
    if env.get("ANTHROPIC_API_KEY").is_some() {
        let config = ProviderConfig::Anthropic { key_env: None, base_url: None, default_model: None };
        return chosen(config, model("anthropic"));
    }
    if env.get("OPENAI_API_KEY").is_some() {
        let base_url = env.get("OPENAI_BASE_URL");
        let config = ProviderConfig::Openai { key_env: None, base_url, default_model: None };
        return chosen(config, model("openai"));
    }
    if fallback_to_mock {
        return chosen(ProviderConfig::Mock { reply: None }, "mock".to_owned());
    }
    let message = "the environment offers no model: set OLLAMA_MODEL for Ollama, AZURE_OPENAI_API_KEY with \
         AZURE_OPENAI_ENDPOINT and AZURE_OPENAI_DEPLOYMENT for Azure, ANTHROPIC_API_KEY, or OPENAI_API_KEY; or fall \
         back to the mock";
    Err(LlmError::new(LlmErrorKind::NoCredential, "provider", message))
}

#[cfg(all(test, feature = "anthropic", feature = "openai", feature = "ollama"))]
mod tests {
    use super::*;

    const ALL: [(&str, &str); 8] = [
        ("OLLAMA_MODEL", "qwen3:4b"),
        ("AZURE_OPENAI_API_KEY", "canary-azure"),
        ("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com"),
        ("AZURE_OPENAI_DEPLOYMENT", "my-gpt"),
        ("AZURE_OPENAI_API_VERSION", "2024-10-21"),
        ("ANTHROPIC_API_KEY", "canary-anthropic"),
        ("OPENAI_API_KEY", "canary-openai"),
        ("LLM_MODEL", "chosen-1"),
    ];

    fn choose(names: &[&str]) -> Result<ProviderChoice, LlmError> {
        let pairs = ALL.into_iter().filter(|(name, _)| names.contains(name));
        provider_from_env(&EnvVars::from_pairs(pairs), false)
    }

    /// Proves LLM-74.
    #[test]
    fn the_first_that_is_offered_is_taken() {
        const AZURE: [&str; 4] = [
            "AZURE_OPENAI_API_KEY",
            "AZURE_OPENAI_ENDPOINT",
            "AZURE_OPENAI_DEPLOYMENT",
            "AZURE_OPENAI_API_VERSION",
        ];
        let everything = ALL.map(|(name, _)| name);
        let without_ollama = &everything[1..];
        let cases: [(&[&str], &str, &str); 6] = [
            (&everything, "ollama", "qwen3:4b"),
            (without_ollama, "azure-openai", "my-gpt"),
            (&["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "LLM_MODEL"], "anthropic", "chosen-1"),
            (&["ANTHROPIC_API_KEY"], "anthropic", "anthropic"),
            (&["OPENAI_API_KEY", "LLM_MODEL", "AZURE_OPENAI_API_KEY"], "openai", "chosen-1"),
            (&["OPENAI_API_KEY"], "openai", "openai"),
        ];
        for (names, kind, model) in cases {
            let choice = choose(names).unwrap();
            assert_eq!((choice.kind, choice.model.as_str()), (kind, model), "{names:?}");
            assert_eq!(choice.provider.name(), kind);
            assert!(!format!("{choice:?}").contains("canary"));
        }
        for missing in ["AZURE_OPENAI_DEPLOYMENT", "AZURE_OPENAI_API_VERSION"] {
            let names: Vec<&str> = AZURE.into_iter().filter(|name| *name != missing).collect();
            let error = choose(&names).unwrap_err();
            assert!(error.to_string().contains(missing), "{error}");
        }
        // An address alone is no choice, and a blank variable is none.
        let env = EnvVars::from_pairs([("OLLAMA_HOST", "http://x"), ("OPENAI_API_KEY", " ")]);
        let error = provider_from_env(&env, false).unwrap_err();
        for word in ["OLLAMA_MODEL", "AZURE_OPENAI_DEPLOYMENT", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "mock"]
        {
            assert!(error.to_string().contains(word), "{error}");
        }
        assert_eq!(provider_from_env(&env, true).unwrap().kind, "mock");
    }

    /// Proves LLM-73.
    #[test]
    fn a_configuration_names_variables_and_holds_no_secret() {
        let env = EnvVars::from_pairs([("MY_KEY", "canary-mine"), ("AWS_REGION", "us-east-1")]);
        let factory = ProviderFactory::default().env(env);
        for text in [
            r#"{"kind":"anthropic","keyEnv":"MY_KEY","baseUrl":"https://proxy.example"}"#,
            r#"{"kind":"openai","keyEnv":"MY_KEY"}"#,
            r#"{"kind":"azure-openai","keyEnv":"MY_KEY","endpoint":"https://r.openai.azure.com","deployment":"d","apiVersion":"v"}"#,
            r#"{"kind":"ollama","numCtx":8192}"#,
            #[cfg(feature = "bedrock")]
            r#"{"kind":"bedrock","keyEnv":"MY_KEY"}"#,
            #[cfg(feature = "gemini")]
            r#"{"kind":"gemini","keyEnv":"MY_KEY"}"#,
            #[cfg(feature = "gemini")]
            r#"{"kind":"gemini","keyEnv":"MY_KEY","project":"p","location":"global"}"#,
        ] {
            let config: ProviderConfig = serde_json::from_str(text).unwrap();
            assert_eq!(
                factory.create(&config).map(|made| made.name().to_owned()).unwrap(),
                config.kind(),
                "{text}"
            );
            assert_eq!(serde_json::to_string(&config).unwrap(), text);
        }
        let refused = |text: &str| serde_json::from_str::<ProviderConfig>(text).unwrap_err().to_string();
        let unknown = refused(r#"{"kind":"cohere"}"#);
        assert!(unknown.contains("`cohere`") && unknown.contains("`azure-openai`"), "{unknown}");
        let secret = refused(r#"{"kind":"openai","apiKey":"canary-secret"}"#);
        assert!(secret.contains("`apiKey`") && !secret.contains("canary"), "{secret}");
        let unset: ProviderConfig = serde_json::from_str(r#"{"kind":"openai","keyEnv":"NOT_SET"}"#).unwrap();
        let error = factory.create(&unset).err().unwrap();
        assert!(error.kind == LlmErrorKind::NoCredential && error.to_string().contains("NOT_SET"), "{error}");
        // A key the program gives comes before a variable.
        assert!(factory.clone().key("canary-given").create(&unset).is_ok());
        assert!(not_built_in("azure-openai").to_string().contains("feature `openai`"));
    }
}
