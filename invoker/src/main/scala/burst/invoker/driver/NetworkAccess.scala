package burst.invoker.driver

import burst.protocol.{BackendConfig, FlareId}

/** What a pack may reach while it runs a flare: the flare's (or its group's) other packs, if it has several,
  * its backend, and with `egress` the internet. Nothing else: not the machine, and no other flare's packs. Of
  * the packs so many are `elsewhere`, with other invokers.
  */
final case class NetworkAccess(
    flare: FlareId,
    packs: Int,
    backend: BackendConfig,
    egress: Boolean,
    elsewhere: Int = 0
):
  /** One that has nobody to talk to needs no network. */
  def isNone: Boolean = packs == 1 && backend.uri.isEmpty && !egress
