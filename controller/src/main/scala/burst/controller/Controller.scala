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
  *   what it keeps; the same the scheduler was given
  * @param guestCredentials
  *   `uuid:key` of the namespace `guest` when this start created it: the only time they are seen in clear.
  *   When they were lost, `renewCredentials` makes new ones.
  * @param drain
  *   it is not ready any more, and what still comes is served; completes when no sequence goes on that does
  *   now, after so long at the latest
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
  /** Credentials of the namespace `guest`: those this start created, or `known` ones if they are still good.
    * Asks the store.
    */
  def credentials(known: Option[String]): Option[String] =
    guestCredentials.orElse(known.filter:
      case s"$uuid:$key" => storage.namespaces.authenticate(uuid, key).exists(_.namespace == Controller.Guest)
      case _ => false)

  /** New ones, unless an administrator has taken care of them. */
  def renewCredentials(): Option[String] = storage.namespaces.renewKey(Controller.Guest)

  /** Takes no more requests, lets those under way end for a moment, stops the scheduler, closes the stores.
    */
  def shutdown(): Future[Unit] = stop()

object Controller:
  /** The namespace of whoever starts the platform. */
  val Guest = "guest"
