"""The smallest action: `burst run examples/python/hello.py --param name=Ada`."""


def main(args):
    return {"greeting": "Hello, " + args.get("name", "World")}
