//! Unsigned requests, and where they are from.

use super::*;

#[tokio::test]
async fn unsigned_requests_are_taken_from_programs_and_not_from_pages() {
    let server = TestServer::new();
    let ask = async |headers: &[(&str, &str)]| {
        let request = Request::builder().method(Method::POST).uri("/PayTool/control/pause");
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let router = TowerToHyperService::new(router(&server.state));
        text(router.call(request.body(Body::empty()).unwrap()).await.unwrap()).await
    };
    for headers in [
        &[("host", "127.0.0.1:9980"), ("content-type", "application/json")][..],
        &[("host", "localhost")],
        &[("host", "[::1]:9980"), ("content-type", "application/json; charset=utf-8")],
        &[],
    ] {
        let (_, body) = ask(headers).await;
        assert!(body.contains("control = true"), "it is let in, and may not control: {body}");
    }
    for headers in [
        &[("host", "pay.evil.example:9980")][..],
        &[("host", "127.0.0.1.evil.example")],
        &[("host", "127.0.0.1"), ("origin", "https://evil.example")],
        &[("host", "127.0.0.1"), ("content-type", "text/plain")],
    ] {
        let (status, body) = ask(headers).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{headers:?}");
        assert!(body.contains("a page in a browser"), "{body}");
    }
}
