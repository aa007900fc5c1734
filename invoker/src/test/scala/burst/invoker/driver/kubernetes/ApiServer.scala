package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.client.NamespacedKubernetesClient
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer
import io.fabric8.mockwebserver.{Context, MockWebServer}
import java.util.HashMap as JavaMap
import java.util.concurrent.TimeoutException
import java.util.logging.{Level, Logger}

/** The library's API server, which keeps what it is given. `resizes`: whether it can change pods' limits. */
private[kubernetes] final class ApiServer(resizes: Boolean = true) extends AutoCloseable:
  // Otherwise it logs every request. Held, as an unreferenced logger forgets its level.
  private val log = Logger.getLogger(classOf[MockWebServer].getName)
  log.setLevel(Level.WARNING)

  private val server =
    KubernetesMockServer(Context(), MockWebServer(), JavaMap(), PodDispatcher(resizes), false)
  server.init()

  def url: String = server.url("/")
  def connect(): NamespacedKubernetesClient = server.createClient()

  /** If a watch ends while an event is on its way to it, this server's only thread waits for itself, for 10
    * s: then the server is closed all the same, and reports that it could not be.
    */
  def close(): Unit =
    try server.destroy()
    catch
      case problem: IllegalStateException if problem.getCause.isInstanceOf[TimeoutException] =>
        System.err.println("the API server of a test has waited for itself")
