#!/usr/bin/env python3
"""Judges the packed Helm chart by Helm's own library: tests/packages/chart.py CHART.tgz

By itself it renders operate/kubernetes/signer.yml, object for object, and every rendering is valid to the letter.
"""

import sys
from pathlib import Path

import helm_python as helm
import kubernetes_validate
import yaml

TREE = Path(__file__).resolve().parents[2]
KUBERNETES = "1.31"

REFUSED = {
    "a second replica beside a file": {"replicas": 2},
    "an unknown value": {"replica": 1},
    "an image by the tag latest": {"image": {"tag": "latest"}},
    "a digest that is none": {"image": {"digest": "sha256:12"}},
    "a path out of the folder": {"config": {"items": [{"key": "a", "path": "../a"}]}},
    "an absolute path": {"keys": {"items": [{"key": "a", "path": "/a"}]}},
    "a number in the environment": {"environment": {"SIGNER__LOG__FORMAT": 1}},
    "two places for backups": {"backups": {"size": "10Gi", "existingClaim": "a"}},
    "backups of a journal on a server": {"journal": {"onServer": True}, "backups": {"size": "10Gi"}},
    "metadata without its port": {"networkPolicy": {"metadata": [{"cidr": "169.254.169.254/32"}]}},
}


def objects(texts):
    found = [one for text in texts for one in yaml.safe_load_all(text) if one]
    return {one["kind"]: one for one in found}


def rendered(chart, values):
    chart.validate_schema(values)
    texts = chart.render(values, name="signer", namespace="billing")
    found = objects(text for name, text in texts.items() if name.endswith(".yaml"))
    for one in found.values():
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    return found


def main(path):
    found = [one for one in helm.lint(path)["messages"] if one["error"] != "icon is recommended"]
    assert not found, found
    with helm.Chart.load(path) as chart:
        plain = rendered(chart, {})
        deployed = objects([(TREE / "operate/kubernetes/signer.yml").read_text()])
        assert plain == deployed, f"{plain}\n\nis not\n\n{deployed}"

        two = rendered(chart, {
            "replicas": 2,
            "journal": {"onServer": True, "storageClass": "local"},
            "image": {"digest": "sha256:" + "a" * 64},
            "pullSecrets": ["registry"],
            "keys": {"secret": "", "items": []},
            "environment": {"SIGNER__LOG__FORMAT": "json"},
            "serviceAccount": {"name": "signer", "mountToken": True},
            "networkPolicy": {"ports": [443, 5432], "except": []},
        })
        # A standby is never ready: no budget, no order and no rolling update may wait for it.
        assert "PodDisruptionBudget" not in two
        told = two["StatefulSet"]["spec"]
        assert (told["podManagementPolicy"], told["updateStrategy"]) == ("Parallel", {"type": "OnDelete"}), told
        assert len(told["volumeClaimTemplates"]) == 1, told
        pod = two["StatefulSet"]["spec"]["template"]["spec"]
        assert pod["containers"][0]["image"].endswith("@sha256:" + "a" * 64), pod
        assert len(pod["volumes"][0]["projected"]["sources"]) == 1, pod
        for backups in {"size": "20Gi", "storageClass": "other"}, {"existingClaim": "second"}:
            told = rendered(chart, {"backups": backups})["StatefulSet"]["spec"]
            pod = told["template"]["spec"]
            signer = pod["containers"][0]
            claims = [one["metadata"]["name"] for one in told["volumeClaimTemplates"]]
            volumes = [one["name"] for one in pod["volumes"]]
            assert {one["name"] for one in signer["volumeMounts"]} == {*claims, *volumes}, told
            assert sorted(claims + volumes) == ["backups", "config", "journal"], told
            assert {"name": "SIGNER__JOURNAL__BACKUP_DIR", "value": "/backups"} in signer["env"], signer
        policy = {"metadata": [{"cidr": "169.254.169.254/32", "port": 80}]}
        egress = rendered(chart, {"networkPolicy": policy})["NetworkPolicy"]["spec"]["egress"]
        assert egress[-1] == {"to": [{"ipBlock": {"cidr": "169.254.169.254/32"}}], "ports": [{"port": 80}]}, egress
        assert "NetworkPolicy" not in rendered(chart, {"networkPolicy": {"enabled": False}})

        for name, values in REFUSED.items():
            try:
                chart.validate_schema(values)
            except helm.HelmError:
                continue
            sys.exit(f"{name} is not refused")
    print(f"the chart renders what operate/kubernetes has; {len(REFUSED)} wrong values are refused")


main(*sys.argv[1:])
