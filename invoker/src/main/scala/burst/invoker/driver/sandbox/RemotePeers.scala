package burst.invoker.driver
package sandbox

import java.util.concurrent.ConcurrentHashMap

/** How the packs of flares on several invokers find each other. A sandbox's own endpoint, a Unix socket, is
  * useless to packs elsewhere: they get an endpoint of its shim instead (`listening`). The endpoints that
  * they publish are translated back for the sandboxes of this invoker. Belongs to the driver.
  */
private[sandbox] final class RemotePeers:
  import RemotePeers.*

  private val registrations = ConcurrentHashMap[Sandbox, PeerRegistration]()

  /** By the published endpoints. */
  private val own = ConcurrentHashMap[String, String]()

  /** Its shim accepts packs for it at the published endpoint. */
  def listening(sandbox: Sandbox, published: String): Unit =
    val _ = registrations.put(sandbox, PeerRegistration(published, None))

  def isRegistered(sandbox: Sandbox): Boolean = registrations.containsKey(sandbox)

  def publish(sandbox: Sandbox, endpoint: String): String =
    Option(registrations.get(sandbox)).fold(endpoint): registration =>
      own.put(registration.published, endpoint)
      registration.published

  /** How a sandbox's program finds packs with these published endpoints. For those of other invokers it calls
    * `reach`, which opens the way to them and returns the socket to use; but only once for the same
    * endpoints, as their connections outlast a flare.
    */
  def find(sandbox: Sandbox, endpoints: Vector[Option[String]])(
      reach: Vector[String] => Either[ShimProblem, String]
  ): Either[ShimProblem, Vector[Option[String]]] = Option(registrations.get(sandbox)) match
    case None => Right(endpoints)
    case Some(PeerRegistration(_, Some(found))) if found.of == endpoints => Right(found.endpoints)
    case Some(registration) =>
      val local = endpoints.flatten.flatMap(endpoint => Option(own.get(endpoint)).map(endpoint -> _)).toMap
      val remote = endpoints.flatten.filterNot(local.contains)
      val relayed =
        if remote.isEmpty then Right(Map.empty[String, String])
        else
          reach(remote).map: socket =>
            remote.zipWithIndex.map((peer, index) => peer -> Shim.relayed(socket, index)).toMap
      relayed.map: relayed =>
        val found = endpoints.map(_.map(local ++ relayed))
        // unless it was forgotten in the meantime
        registrations.replace(sandbox, registration, registration.copy(found = Some(Found(endpoints, found))))
        found

  /** Nobody connects to it any more, or the sandbox is gone. */
  def forget(sandbox: Sandbox): Unit =
    Option(registrations.remove(sandbox)).foreach(registration => own.remove(registration.published))

private object RemotePeers:
  final case class PeerRegistration(published: String, found: Option[Found])

  /** The translation of some endpoints. */
  final case class Found(of: Vector[Option[String]], endpoints: Vector[Option[String]])
