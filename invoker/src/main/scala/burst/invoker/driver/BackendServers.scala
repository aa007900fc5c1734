package burst.invoker.driver

import burst.node.ServerAddress
import burst.protocol.BackendConfig
import java.util.concurrent.ConcurrentHashMap

/** Where the servers of backends are, for drivers that let packs through to them. `find` takes its time, and
  * is asked once for each backend: there are as many as operators have.
  */
private[driver] final class BackendServers(find: BackendConfig => Vector[ServerAddress]):
  private val found = ConcurrentHashMap[BackendConfig, Vector[ServerAddress]]()

  /** None where the backend has none. Blocks. Throws `IOException`. */
  def of(backend: BackendConfig): Vector[ServerAddress] =
    if backend.uri.isEmpty then Vector.empty
    else found.computeIfAbsent(backend.copy(chunkSize = None), find(_))
