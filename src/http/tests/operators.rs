//! The page for operators is there where it is configured, and lets nothing of others in.

use super::*;

#[tokio::test]
async fn the_page_runs_its_own_files_and_nothing_else() {
    let house = House::new();
    let (status, page) = house.ask(Method::GET, "/").await;
    assert_eq!(status, StatusCode::OK);
    for path in ["page.css", "page.js"] {
        assert!(page.contains(&format!("\"{path}\"")), "{page}");
        assert_eq!(house.ask(Method::GET, &format!("/{path}")).await.0, StatusCode::OK, "{path}");
    }
    for forbidden in ["<style", " style=", " onclick=", "http-equiv", "https://"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    let request = Request::builder().uri("/").body(Body::empty()).unwrap();
    let told = TowerToHyperService::new(router(&house.door)).call(request).await.unwrap();
    let policy = told.headers()["content-security-policy"].to_str().unwrap();
    for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
}

#[tokio::test]
async fn numbers_begin_where_the_page_left_off() {
    let house = House::new();
    let (status, told) = house.ask_json("/page/numbers").await;
    assert_eq!((status, told["data"]["signed"].as_bool()), (StatusCode::OK, Some(false)));
    assert_eq!(told["data"]["samples"].as_array().map(Vec::len), Some(1), "what is counted now");
    house.door.metrics.keep_sample(&house.door.engine);
    let (_, told) = house.ask_json("/page/numbers").await;
    assert_eq!(told["data"]["samples"].as_array().map(Vec::len), Some(2), "{told}");
    let at = told["data"]["samples"][0]["at"].as_i64().unwrap();
    let (_, told) = house.ask_json(&format!("/page/numbers?after={at}")).await;
    assert_eq!(told["data"]["samples"].as_array().map(Vec::len), Some(1), "{told}");
    let (status, told) = house.ask_json("/page/numbers?before=1").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(told["msg"].as_str().unwrap().contains("unknown field"), "{told}");
}

#[tokio::test]
async fn without_it_there_is_nothing_at_its_paths() {
    let house = House::serving(false);
    for path in ["/", "/page.css", "/page.js", "/page/numbers"] {
        assert_eq!(house.ask(Method::GET, path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(house.ask(Method::GET, "/health/live").await.0, StatusCode::OK);
}

#[tokio::test]
async fn on_a_port_of_its_own_it_asks_for_everything_but_billing() {
    let mut house = House::new();
    let door = Arc::get_mut(&mut house.door).unwrap();
    door.limits.health_listen = "127.0.0.1:0".parse().ok();
    let ask = async |router: Router, method: Method, path: &str| {
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        TowerToHyperService::new(router).call(request).await.unwrap().status()
    };
    let apart = || health_router(&house.door).unwrap();
    for path in ["/", "/page/numbers", "/PayTool/charges", "/health/live"] {
        assert_eq!(ask(apart(), Method::GET, path).await, StatusCode::OK, "{path}");
    }
    assert_eq!(ask(router(&house.door), Method::GET, "/").await, StatusCode::NOT_FOUND);
    let bill = "/PayTool/EVM/subscribe/signProcessSubscribePlan";
    assert_eq!(ask(apart(), Method::POST, bill).await, StatusCode::NOT_FOUND);
}
