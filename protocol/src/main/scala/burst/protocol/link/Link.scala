package burst.protocol.link

import burst.protocol.*
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem}
import org.apache.pekko.actor.typed.delivery.ProducerController
import org.apache.pekko.actor.typed.scaladsl.adapter.*
import org.apache.pekko.actor.{Actor, ActorSelection, Address}
import scala.concurrent.duration.FiniteDuration

/** A message between a controller and an invoker in another process.
  *
  * ==A session==
  * {{{
  *   invoker                                    controller
  *     │ ── Hello (to every seed, until answered) ──▶ │
  *     │ ◀───────────── Welcome(epoch, toInvoker) ─── │  a session begins, of this scheduler
  *     │ ── Beat(1, status, toController) ──────────▶ │  the invoker is up
  *     │ ◀─────────────────────────────── Seen(1) ─── │
  *     │ ◀═ ToInvoker ═     and     ═ ToController ═▶ │  in order, complete, cut into chunks
  *     │ ── Beat(n, status, toController) ──────────▶ │
  * }}}
  * `ToInvoker` and `ToController` use Pekko's reliable delivery: what a broken connection lost is sent again.
  * For the invoker a session ends when it has not seen an answer to a beat for `contact`, or receives `Over`:
  * it kills every pack and only then says Hello again. Unless another scheduler welcomes it before that: it
  * looks for one as soon as it has heard nothing for a while, or is notified that the scheduler `handsOver`.
  * Its packs then go on, their reports are kept meanwhile, and the new scheduler adopts them. For the
  * controller a session ends when no beat has arrived for longer than `contact` and the time a kill takes:
  * only then is the invoker lost and are its packs known to be dead. So a pack never runs while the scheduler
  * considers it dead.
  *
  * Only one invoker has an id at a time. An invoker that says Hello with the id of another that has a session
  * gets no answer while it is unclear which is alive: if the other sends a beat, the newcomer is `Refused`,
  * and exits; without any beat the session ends as above, its packs are dead, and the newcomer is let in.
  * Only an invoker that has restarted is let in without waiting: it is known by its data directory, whose
  * lock shows that its former process is dead.
  *
  * A scheduler that takes over has a higher `epoch`, counted by the database; an invoker that has seen it
  * accepts no session of a lower one. The previous scheduler may have seen beats until this one began, but
  * not after: packs that no invoker has reported within the time after that in which a session ends are dead.
  */
sealed trait LinkMessage

/** From an invoker that has no session. `tries` counts its sessions, so that a Hello that was overtaken ends
  * nothing. `from` changes with a restart; `home` does not, it is generated once for the data directory.
  *
  * It must be understood whatever the versions of the two are: it keeps its fields, and has no others that a
  * release could change. The same holds for `Refused`, the answer to an invoker with which no version is
  * common.
  *
  * @param version
  *   the oldest that the invoker speaks
  * @param newest
  *   the newest; absent from invokers that speak only one
  */
final case class Hello(
    version: Int,
    newest: Option[Int],
    id: InvokerId,
    tries: Long,
    from: ActorRef[ToLink],
    home: String
) extends LinkMessage:
  def versions: Versions = Versions(version, newest.getOrElse(version))

  /** Whether this comes from the process that has replaced the other's: a copy of a data directory is on
    * another machine.
    */
  def follows(other: Hello): Boolean =
    home == other.home && from.path.address.host == other.from.path.address.host

object Hello:
  /** The Hello of an invoker of this release. */
  def own(id: InvokerId, tries: Long, from: ActorRef[ToLink], home: String): Hello =
    Hello(Protocol.Nodes.oldest, Some(Protocol.Nodes.newest), id, tries, from, home)

/** To the invoker's end of a session, besides `ToInvoker`. */
sealed trait ToLink extends LinkMessage

/** `contact` is how long the invoker may hear nothing before it must kill its packs, `version` the one used
  * in this session; controllers that speak only one omit it and use the invoker's oldest. `at` is the time of
  * day by this scheduler's clock: whatever it places in this session, it places later.
  */
final case class Welcome(
    epoch: Long,
    version: Option[Int],
    tries: Long,
    contact: FiniteDuration,
    session: ActorRef[ToSession],
    toInvoker: ActorRef[ProducerController.Command[ToInvoker]],
    at: Option[Timestamp] = None
) extends ToLink

/** `wanted` are the packs that wait for room that the invoker's cluster does not have (`WantRoom`). `free` is
  * whether the scheduler has nothing left on an invoker that is leaving (`NothingMore`); controllers of older
  * releases omit it.
  */
final case class Seen(
    beat: Long,
    wanted: Option[Vector[WantedPacks]] = None,
    free: Option[Boolean] = None
) extends ToLink

/** There will be no session: another invoker has this one's id and is alive, or no version is common. */
final case class Refused(reason: String) extends ToLink

/** The session is over; another one may begin. If the scheduler `handsOver`, that can be the next
  * scheduler's, which adopts the packs.
  */
final case class Over(session: ActorRef[ToSession], handsOver: Boolean) extends ToLink

/** To the controller's end of a session, besides `ToController`. */
sealed trait ToSession extends LinkMessage
final case class Beat(
    number: Long,
    status: InvokerStatus,
    toController: ActorRef[ProducerController.Command[ToController]]
) extends ToSession

/** The invoker stops, and nothing that it ran is left. */
final case class Farewell(reason: String) extends ToSession

/** Where invokers say Hello. The actor is looked up again for each, since a controller listens before the
  * actor exists, and Pekko may remember for a reference by path that nobody was there. (Such a path is also
  * given a short name that both sides keep, and messages sent by that name are lost for as long as the
  * controller lives.)
  */
final class SessionEndpoint(selection: ActorSelection):
  def !(hello: Hello): Unit = selection.tell(hello, Actor.noSender)

  /** The address of the controller. */
  def address: Address = selection.anchorPath.address

object SessionEndpoint:
  /** Every controller has a system actor of this name that accepts `Hello`. */
  val Name = "burst-door"

  /** The endpoint of the controller whose actor system has this address. */
  def at(controller: String)(using system: ActorSystem[?]): SessionEndpoint =
    SessionEndpoint(system.toClassic.actorSelection(s"$controller/system/$Name"))
