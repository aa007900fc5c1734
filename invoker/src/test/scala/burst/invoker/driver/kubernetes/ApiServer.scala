package burst.invoker.driver
package kubernetes

import io.fabric8.kubernetes.client.NamespacedKubernetesClient
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer
import io.fabric8.mockwebserver.{Context, MockWebServer}
import java.util.HashMap as JavaMap
import java.util.concurrent.TimeoutException
import java.util.logging.{Level, Logger}

/** The library's API server, which keeps what it is given. `resizes`: it can change the limits of pods. */
private[kubernetes] final class ApiServer(resizes: Boolean = true) extends AutoCloseable:
  // It would tell of every request. Held, as a logger that nobody holds forgets its level.
  private val log = Logger.getLogger(classOf[MockWebServer].getName)
  log.setLevel(Level.WARNING)

  private val server =
    KubernetesMockServer(Context(), MockWebServer(), JavaMap(), PodDispatcher(resizes), false)
  server.init()

  def url: String = server.url("/")
  def connect(): NamespacedKubernetesClient = server.createClient()

  /** When a watch ends while something is on its way to it, this server's one thread waits for itself, for 10
    * s: then it is closed all the same, and says that it could not be.
    */
  def close(): Unit =
    try server.destroy()
    catch
      case problem: IllegalStateException if problem.getCause.isInstanceOf[TimeoutException] =>
        System.err.println("the API server of a test has waited for itself")
