package burst.invoker.driver

import burst.protocol.{BackendConfig, FlareId}

/** What a pack can reach while it runs a flare: the flare's (or its group's) other packs, if there are
  * several, its backend, and with `egress` the internet. Nothing else: neither the machine, nor other flares'
  * packs. `elsewhere` is how many of the packs other invokers have.
  */
final case class NetworkAccess(
    flare: FlareId,
    packs: Int,
    backend: BackendConfig,
    egress: Boolean,
    elsewhere: Int = 0
):
  /** A pack without anyone to talk to needs no network. */
  def isNone: Boolean = packs == 1 && backend.uri.isEmpty && !egress
