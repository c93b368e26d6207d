"""One of three providers lies, of both chains. A row for each kind of lie, counted lie by lie."""

import random
import re
import time

import lies
from faults import row
from proxy import Provider


def _three_providers(world):
    """Three providers before the sandbox's nodes, of which one may lie: the same in the whole row."""
    urls = {
        "evm": (139, world.at["evm"]), "full": (136, world.at["tronFull"]),
        "solidity": (136, world.at["tronSolidity"]), "jsonrpc": (136, world.at["tronJsonrpc"]),
    }
    world.providers = [Provider(f"127.0.0.{place}", urls) for place in (1, 2, 3)]
    world.at_end.extend(provider.close for provider in world.providers)
    evm = ", ".join(f'"{provider.urls["evm"]}"' for provider in world.providers)
    tron = ", ".join(
        "{ " + ", ".join(f'{name} = "{provider.urls[name]}"' for name in ("full", "solidity", "jsonrpc")) + " }"
        for provider in world.providers
    )
    text = re.sub(r"^rpc = .*$", f"rpc = [{evm}]", world.text, flags=re.M)
    world.text = re.sub(r"^full = .*\nsolidity = .*\njsonrpc = .*$", f"nodes = [{tron}]", text, flags=re.M)


def _lies(kind):
    def inject(world, dice):
        if not hasattr(world, "liar"):
            world.liar = world.providers[dice.randrange(3)]
        liar = world.liar
        liar.lies = {}
        liar.lie = kind(random.Random(dice.random()), dice.choice([0.1, 0.5, 1.0]))
        time.sleep(dice.uniform(0.5, 3))
        liar.lie = None
        for chain, times in list(liar.lies.items()):
            world.count(chain, times=times)

    inject.__name__ = f"node_{kind.__name__.lower()}"
    inject.__doc__ = f"One of three providers lies: {kind.__doc__[0].lower()}{kind.__doc__[1:]}"
    inject.__module__ = __name__
    return inject


for _kind in lies.KINDS:
    row(prepare=_three_providers)(_lies(_kind))


@row(prepare=_three_providers)
def liar_and_kills(world, dice):
    """One of three providers tells each caller another story, while the Signer is killed."""
    _lies(lies.Splits)(world, dice)
    world.machine.kill()
    world.count()
    world.machine.start()
