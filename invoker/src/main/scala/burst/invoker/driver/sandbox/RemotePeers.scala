package burst.invoker.driver
package sandbox

import java.util.concurrent.ConcurrentHashMap

/** Where the packs of flares that several invokers have find each other. A sandbox's own endpoint, a Unix
  * socket, is nothing to packs elsewhere: they are told one of its shim's instead (`listening`). What they
  * are told is translated back for the sandboxes of this invoker. Belongs to the driver.
  */
private[sandbox] final class RemotePeers:
  import RemotePeers.*

  private val registrations = ConcurrentHashMap[Sandbox, PeerRegistration]()

  /** By the endpoints that others are told. */
  private val own = ConcurrentHashMap[String, String]()

  /** Its shim takes packs in for it there. */
  def listening(sandbox: Sandbox, published: String): Unit =
    val _ = registrations.put(sandbox, PeerRegistration(published, None))

  def isRegistered(sandbox: Sandbox): Boolean = registrations.containsKey(sandbox)

  def publish(sandbox: Sandbox, endpoint: String): String =
    Option(registrations.get(sandbox)).fold(endpoint): registration =>
      own.put(registration.published, endpoint)
      registration.published

  /** How a sandbox's program finds packs that are published so. It goes by `reach` to those of other
    * invokers, which lets it through to them and says by what socket; but only once for the same ones: their
    * connections outlast a flare.
    */
  def find(sandbox: Sandbox, endpoints: Vector[Option[String]])(
      reach: Vector[String] => Either[ShimProblem, String]
  ): Either[ShimProblem, Vector[Option[String]]] = Option(registrations.get(sandbox)) match
    case None => Right(endpoints)
    case Some(PeerRegistration(_, Some(found))) if found.of == endpoints => Right(found.endpoints)
    case Some(registration) =>
      val here = endpoints.flatten.flatMap(endpoint => Option(own.get(endpoint)).map(endpoint -> _)).toMap
      val remote = endpoints.flatten.filterNot(here.contains)
      val relayed =
        if remote.isEmpty then Right(Map.empty[String, String])
        else
          reach(remote).map: socket =>
            remote.zipWithIndex.map((peer, index) => peer -> Shim.relayed(socket, index)).toMap
      relayed.map: relayed =>
        val found = endpoints.map(_.map(here ++ relayed))
        // unless it was forgotten meanwhile
        registrations.replace(sandbox, registration, registration.copy(found = Some(Found(endpoints, found))))
        found

  /** Nobody comes to it any more, or the sandbox is gone. */
  def forget(sandbox: Sandbox): Unit =
    Option(registrations.remove(sandbox)).foreach(registration => own.remove(registration.published))

private object RemotePeers:
  final case class PeerRegistration(published: String, found: Option[Found])

  /** What some endpoints were translated to. */
  final case class Found(of: Vector[Option[String]], endpoints: Vector[Option[String]])
