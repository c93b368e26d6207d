//! The fields that a control takes. One that is misspelt would have the control do something else than was meant.

use serde_json::Value;

/// Fields that are true or false.
const FLAGS: [&str; 5] = ["approve", "authorise", "keep", "newVersion", "on"];

/// The fields of a control; none if there is no such control.
fn known(control: &str) -> Option<&'static [&'static str]> {
    Some(match control {
        "advance" => &["months", "days", "seconds"],
        "blocks" => &["count"],
        "hold" => &["on"],
        "fault" => {
            &["kind", "chainId", "depth", "keep", "on", "price", "wallet", "amount", "how", "times"]
        }
        "biller" => &["chainId", "account"],
        "balance" => &["chainId", "of"],
        "fund" => &["chainId", "wallet", "amount"],
        "sweep" => &["chainId", "uuid"],
        "transfer" => &["chainId", "from", "to", "amount"],
        "follow-link" => &["paymentUrl", "wallet", "allowance", "authorise"],
        "propose-plan" => &[
            "admin",
            "planId",
            "chainId",
            "amount",
            "name",
            "intervalSeconds",
            "periods",
            "delaySeconds",
            "newVersion",
        ],
        "approve-plan" => &["admin", "planId", "chainId", "version"],
        "decide-withdrawal" => &["admin", "withdrawId", "approve"],
        "organisation" => &["rechargeCallbackUrl"],
        "callbacks" => &["most"],
        "send-again" => &["id"],
        _ => return None,
    })
}

/// An error if a body has a field that its control does not take, or another value where true or false belongs.
pub(crate) fn refuse_others(control: &str, body: &Value) -> Result<(), String> {
    let (Some(known), Some(fields)) = (known(control), body.as_object()) else { return Ok(()) };
    for (name, value) in fields {
        if !known.contains(&name.as_str()) {
            return Err(format!("{control} has no field {name}: {}", known.join(", ")));
        }
        if FLAGS.contains(&name.as_str()) && !value.is_boolean() && !value.is_null() {
            return Err(format!("{name} is true or false"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_slip_does_nothing_else_than_was_meant() {
        let told = refuse_others("fault", &json!({"kind": "node-down", "off": true})).unwrap_err();
        assert!(told.starts_with("fault has no field off: kind, chainId"), "{told}");
        let told = refuse_others("hold", &json!({"on": "yes"})).unwrap_err();
        assert_eq!(told, "on is true or false");
        for (control, body) in [("hold", json!({"on": null})), ("blocks", json!(null))] {
            assert_eq!(refuse_others(control, &body), Ok(()));
        }
    }
}
