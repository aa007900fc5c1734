package burst.controller

import burst.controller.store.Storage
import burst.protocol.{InvokerRequest, RegistryCommand}
import java.net.InetSocketAddress
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

/** A running controller.
  *
  * @param address
  *   where the API listens
  * @param scheme
  *   `http` or `https`
  * @param invokers
  *   where invokers register
  * @param storage
  *   the stores, shared with the scheduler
  * @param guestCredentials
  *   `uuid:key` of the namespace `guest` if this start created it: the only time they are seen in clear. If
  *   they are lost, `renewCredentials` makes new ones.
  * @param drain
  *   makes the controller not ready, while it still serves requests; completes when the sequences now running
  *   have ended, or after the given time
  */
final class Controller private[controller] (
    val address: InetSocketAddress,
    val scheme: String,
    val invokers: ActorRef[RegistryCommand[InvokerRequest]],
    val storage: Storage,
    val guestCredentials: Option[String],
    val drain: FiniteDuration => Future[Unit],
    stop: () => Future[Unit]
):
  /** Returns the credentials of the namespace `guest`: those this start created, or `known` ones if they are
    * still valid. Queries the store.
    */
  def credentials(known: Option[String]): Option[String] =
    guestCredentials.orElse(known.filter:
      case s"$uuid:$key" => storage.namespaces.authenticate(uuid, key).exists(_.namespace == Controller.Guest)
      case _ => false)

  /** Makes new credentials, unless an administrator has changed the namespace. */
  def renewCredentials(): Option[String] = storage.namespaces.renewKey(Controller.Guest)

  /** Accepts no more requests, gives those under way a moment to end, stops the scheduler, and closes the
    * stores.
    */
  def shutdown(): Future[Unit] = stop()

object Controller:
  /** The namespace of the user who starts the platform. */
  val Guest = "guest"
