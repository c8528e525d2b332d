//! The video generator as a tool that a model may call.

use std::sync::Arc;

use robota_core::{
    Access, DynTool, InvalidArguments, PreparedCall, ToolClass, ToolContext, ToolOutcome, ToolSpec,
};
use serde::Deserialize;
use serde_json::json;

use super::video::{Video, VideoDeadline, VideoGenerator, VideoRequest};

/// A tool that makes a video and tells the model where it is. It is of the network class, so that it is asked for as
/// any other tool that reaches out.
pub struct GenerateVideo {
    spec: Arc<ToolSpec>,
    generator: Arc<dyn VideoGenerator>,
    /// Where the generator is.
    url: String,
    model: String,
    wait: VideoDeadline,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    prompt: String,
    image_url: Option<String>,
    ratio: Option<String>,
    duration: Option<u32>,
    resolution: Option<String>,
}

impl GenerateVideo {
    /// A tool that has `model` of `generator`, which is at `url`, make the videos.
    #[must_use]
    pub fn new(
        generator: Arc<dyn VideoGenerator>,
        url: impl Into<String>,
        model: impl Into<String>,
        wait: VideoDeadline,
    ) -> Self {
        let text = |description: &str| json!({"type": "string", "description": description});
        let schema = json!({
            "type": "object",
            "properties": {
                "prompt": text("What happens in the video."),
                "imageUrl": text("Address of an image the video begins with."),
                "ratio": text("Width to height, such as 16:9."),
                "duration": {"type": "integer", "description": "Seconds."},
                "resolution": text("480p, 720p or 1080p."),
            },
            "required": ["prompt"],
        });
        let description = "Makes a short video from a description, and an image if there is one. Takes minutes and \
                           costs money. Answers with the address of the video, which is kept for a day.";
        let spec = ToolSpec::new("GenerateVideo", ToolClass::Network, description).with_input_schema(schema);
        Self { spec: Arc::new(spec), generator, url: url.into(), model: model.into(), wait }
    }

    /// What the call would reach: the service, and what the service is told to fetch.
    fn access(&self, image: Option<&str>) -> Vec<Access> {
        let addresses = [Some(self.url.as_str()), image.filter(|url| !url.starts_with("data:"))];
        let reached = addresses.into_iter().flatten().map(|url| {
            let host =
                reqwest::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_ascii_lowercase));
            Access::Url { url: url.to_owned(), host: host.unwrap_or_default() }
        });
        reached.collect()
    }
}

impl DynTool for GenerateVideo {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare(&self, arguments: &str) -> Result<PreparedCall, InvalidArguments> {
        let unusable = |why: &dyn std::fmt::Display| {
            InvalidArguments::new(format!("the arguments of GenerateVideo cannot be used: {why}"))
        };
        // A list would be read field by field, past every hook that looks for a name.
        if !arguments.trim_start().starts_with('{') {
            return Err(unusable(&"they must be an object"));
        }
        let input: Input = serde_json::from_str(arguments).map_err(|error| unusable(&error))?;
        let access = self.access(input.image_url.as_deref());
        let Input { prompt, image_url, ratio, duration, resolution } = input;
        let request =
            VideoRequest { model: self.model.clone(), prompt, image_url, ratio, duration, resolution };
        let (generator, wait) = (Arc::clone(&self.generator), self.wait);
        Ok(PreparedCall::new(access, move |context: ToolContext| {
            Box::pin(async move {
                let made = Video::generate(&*generator, &request, wait, &context.cancel).await;
                Ok(match made {
                    Ok(Video { task, url }) => ToolOutcome::success(format!(
                        "The video is ready: {url} (it is kept there for a day)"
                    ))
                    .with_structured(json!({"url": url, "task": task})),
                    Err(error) => {
                        let hint = error.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
                        ToolOutcome::failure(format!("{error}{hint}")).with_error_code("video_failed")
                    }
                })
            })
        }))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use robota_core::ProviderError;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::bytedance::{VideoStatus, VideoTask};

    struct Ready;

    impl VideoGenerator for Ready {
        fn create<'a>(&'a self, request: &'a VideoRequest) -> BoxFuture<'a, Result<String, ProviderError>> {
            Box::pin(async { Ok(request.prompt.clone()) })
        }

        fn poll<'a>(&'a self, task: &'a str) -> BoxFuture<'a, Result<VideoTask, ProviderError>> {
            let done = VideoTask::new(task, VideoStatus::Succeeded);
            Box::pin(async { Ok(VideoTask { url: Some("https://v.example/1.mp4".into()), ..done }) })
        }

        fn cancel<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), ProviderError>> {
            Box::pin(async { Ok(()) })
        }
    }

    #[tokio::test]
    async fn a_call_reaches_the_service_and_tells_where_the_video_is() {
        let url = "https://ark.example/tasks";
        let tool = GenerateVideo::new(Arc::new(Ready), url, "seedance", VideoDeadline::default());
        let call = tool.prepare(r#"{"prompt": "dog", "imageUrl": "https://A.example/x.png"}"#).unwrap();
        let reached = |url: &str, host: &str| Access::Url { url: url.into(), host: host.into() };
        assert_eq!(
            call.access(),
            [reached(url, "ark.example"), reached("https://A.example/x.png", "a.example")]
        );
        let outcome = call.run(ToolContext::new("c", CancellationToken::new())).await.unwrap();
        assert!(!outcome.is_error);
        assert_eq!(outcome.structured, Some(json!({"url": "https://v.example/1.mp4", "task": "dog"})));
        let refused = tool.prepare("[\"dog\"]").unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the arguments of GenerateVideo cannot be used: they must be an object"
        );
    }
}
