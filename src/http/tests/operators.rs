//! The page for operators is there where it is configured, and lets nothing of others in.

use super::*;

#[tokio::test]
async fn the_page_runs_its_own_files_and_nothing_else() {
    let server = TestServer::new();
    let (status, page) = server.ask(Method::GET, "/").await;
    assert_eq!(status, StatusCode::OK);
    for path in ["page.css", "page/main.js", "page/copy.js", "page/uplot.js"] {
        assert!(page.contains(&format!("\"{path}\"")), "{page}");
        assert_eq!(server.ask(Method::GET, &format!("/{path}")).await.0, StatusCode::OK, "{path}");
    }
    for forbidden in ["<style", " style=", " onclick=", "http-equiv", "https://"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert_eq!(page.matches("<script").count(), 3, "{page}");
    assert_eq!(page.matches("<script src=\"page/").count(), 3, "each is a file of its own: {page}");
    let request = Request::builder().uri("/").body(Body::empty()).unwrap();
    let told = TowerToHyperService::new(router(&server.state)).call(request).await.unwrap();
    let policy = told.headers()["content-security-policy"].to_str().unwrap();
    for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[tokio::test]
async fn figures_are_of_a_time_in_whole_steps() {
    let server = TestServer::new();
    let (status, told) = server.ask_json("/page/figures?from=0&until=7200&step=3600").await;
    assert_eq!(status, StatusCode::OK, "{told}");
    assert_eq!(
        (told["data"]["until"].as_i64(), told["data"]["slots"].as_array().map(Vec::len)),
        (Some(7200), Some(0))
    );
    for wrong in [
        "",
        "?from=0&until=0&step=1",
        "?from=0&until=9&step=0",
        "?from=0&until=401&step=1",
        "?from=-9223372036854775808&until=9&step=1",
    ] {
        let (status, told) = server.ask_json(&format!("/page/figures{wrong}")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{wrong}: {told}");
    }
}

#[tokio::test]
async fn the_ledgers_filter_is_told_every_reason() {
    let (_, told) = TestServer::new().ask_json("/page/numbers").await;
    let all: Vec<_> = FailCode::iter().map(FailCode::token).collect();
    assert_eq!(words(&told["data"]["reasons"]), all);
}

#[tokio::test]
async fn without_it_there_is_nothing_at_its_paths() {
    let server = TestServer::with(HttpConfig { page: false, ..limits() });
    for path in ["/", "/page.css", "/page/main.js", "/page/numbers", "/page/figures", "/page/token"]
    {
        assert_eq!(server.ask(Method::GET, path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(server.ask(Method::GET, "/health/live").await.0, StatusCode::OK);
}

#[tokio::test]
async fn on_a_port_of_its_own_it_asks_for_everything_but_billing() {
    let mut server = TestServer::new();
    let state = Arc::get_mut(&mut server.state).unwrap();
    state.limits.health_listen = "127.0.0.1:0".parse().ok();
    let ask = async |router: Router, method: Method, path: &str| {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        TowerToHyperService::new(router).call(request).await.unwrap().status()
    };
    let apart = || health_router(&server.state).unwrap();
    for path in ["/", "/page/numbers", "/PayTool/charges", "/health/live"] {
        assert_eq!(ask(apart(), Method::GET, path).await, StatusCode::OK, "{path}");
    }
    assert_eq!(ask(router(&server.state), Method::GET, "/").await, StatusCode::NOT_FOUND);
    let bill = "/PayTool/EVM/subscribe/signProcessSubscribePlan";
    assert_eq!(ask(apart(), Method::POST, bill).await, StatusCode::NOT_FOUND);
}
