//! The chat template: from what is asked to the prompt's text.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind, Value, context};
use serde_json::json;

use super::CheckpointError;
use super::error::brief;

/// Instructions a template may run (a part of them pays for memory). Published templates need a few hundred.
const FUEL: u64 = 1_000_000;
/// Largest template, bytes.
const SIZE_LIMIT: usize = 1 << 20;
const NAME: &str = "chat";

/// A checkpoint's Jinja chat template.
#[derive(Clone)]
pub struct ChatTemplate {
    file: String,
    environment: Environment<'static>,
}

impl ChatTemplate {
    /// Compiles a template; `file` is the name of its file in messages.
    pub fn parse(file: &str, source: String) -> Result<Self, CheckpointError> {
        if source.len() > SIZE_LIMIT {
            return Err(CheckpointError::TooLarge { file: file.to_owned(), limit: (SIZE_LIMIT >> 20) as u64 });
        }
        let mut environment = Environment::new();
        // As `transformers` sets Jinja up.
        let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
        environment.set_syntax(syntax.map_err(|error| fault(file, &error))?);
        environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        });
        environment.set_fuel(Some(FUEL));
        environment.add_template_owned(NAME, source).map_err(|error| fault(file, &error))?;
        Ok(Self { file: file.to_owned(), environment })
    }

    /// The prompt of one request: a user turn with one image and this text, then the assistant's turn opened.
    pub fn render(&self, text: &str) -> Result<String, CheckpointError> {
        let content = json!([{"type": "image"}, {"type": "text", "text": text}]);
        self.render_chat(&json!([{"role": "user", "content": content}]), None)
    }

    /// A conversation. Whether to think is left to the template where `enable_thinking` is not given.
    fn render_chat(
        &self,
        messages: &serde_json::Value,
        enable_thinking: Option<bool>,
    ) -> Result<String, CheckpointError> {
        let fault = |error| fault(&self.file, &error);
        let template = self.environment.get_template(NAME).map_err(fault)?;
        let messages = Value::from(Serde(messages));
        let rendered = match enable_thinking {
            None => template.render(context! { messages, add_generation_prompt => true }),
            Some(enable_thinking) => {
                template.render(context! { messages, add_generation_prompt => true, enable_thinking })
            }
        };
        rendered.map_err(fault)
    }
}

fn fault(file: &str, error: &Error) -> CheckpointError {
    let line = error.line().map(|line| format!(" in line {line}")).unwrap_or_default();
    let fault = match error.kind() {
        ErrorKind::OutOfFuel => "does not come to an end".to_owned(),
        kind => format!("fails{line}: {}", error.detail().map_or_else(|| brief(kind), brief)),
    };
    CheckpointError::Template { file: file.to_owned(), fault }
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
