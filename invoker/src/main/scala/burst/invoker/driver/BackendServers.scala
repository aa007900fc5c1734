package burst.invoker.driver

import burst.node.ServerAddress
import burst.protocol.BackendConfig
import java.util.concurrent.ConcurrentHashMap

/** The addresses of backends' servers, for drivers that open the network to them for packs. `find` is slow,
  * and is called once per backend: there are only as many as operators have configured.
  */
private[driver] final class BackendServers(find: BackendConfig => Vector[ServerAddress]):
  private val found = ConcurrentHashMap[BackendConfig, Vector[ServerAddress]]()

  /** Empty if the backend has no servers. Blocks. Throws `IOException`. */
  def of(backend: BackendConfig): Vector[ServerAddress] =
    if backend.uri.isEmpty then Vector.empty
    else found.computeIfAbsent(backend.copy(chunkSize = None), find(_))
