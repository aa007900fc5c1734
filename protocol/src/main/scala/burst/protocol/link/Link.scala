package burst.protocol.link

import burst.protocol.*
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem}
import org.apache.pekko.actor.typed.delivery.ProducerController
import org.apache.pekko.actor.typed.scaladsl.adapter.*
import org.apache.pekko.actor.{Actor, ActorSelection, Address}
import scala.concurrent.duration.FiniteDuration

/** What travels between a controller and an invoker in another process.
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
  * `ToInvoker` and `ToController` go by Pekko's reliable delivery: what a broken connection swallowed is sent
  * again. A session ends for the invoker when no beat was seen for `contact`, or it is told `Over`: it kills
  * every pack and only then says Hello again. Unless another scheduler welcomes it before that: for one it
  * looks as soon as it has heard nothing for a while, or is told that the scheduler `handsOver`. Its packs go
  * on then, what they report meanwhile is kept, and the new scheduler adopts them. A session ends for the
  * controller when no beat came for longer than that and the time a kill takes: only then is the invoker lost
  * and its packs known to be dead. So there is never a moment at which a pack runs that the scheduler thinks
  * dead.
  *
  * An id is one invoker's at a time. An invoker that says Hello by the id of another that has a session is
  * not answered while nothing is known: the next beat of that one has the newcomer `Refused`, which ends;
  * without any the session ends as above, its packs are dead, and the newcomer is let in. Only for an invoker
  * that has started again nobody waits: the lock on its data directory, by which it is known, says that its
  * former process is dead.
  *
  * A scheduler that takes over has a higher `epoch`, counted by the database; an invoker that has seen it
  * takes no session of a lower one. The one before may have seen beats until this one began, but not after:
  * what no invoker has brought as long after that as a session takes to end is dead.
  */
sealed trait LinkMessage

/** From an invoker that has no session. `tries` counts its sessions, so that a Hello that was overtaken ends
  * nothing. `from` is another one after a restart; `home` is the same, made once for its data directory.
  *
  * It must be understood whatever the versions of the two: it keeps its fields, and has no others that a
  * release could change. The same holds for `Refused`, by which an invoker is answered with whom no version
  * is common.
  *
  * @param version
  *   the oldest that the invoker speaks
  * @param newest
  *   the newest; none of invokers that speak one only
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

  /** Whether this is of the process that has taken the other's place: a copy of a data directory is on
    * another machine.
    */
  def follows(other: Hello): Boolean =
    home == other.home && from.path.address.host == other.from.path.address.host

object Hello:
  /** Of an invoker of this release. */
  def own(id: InvokerId, tries: Long, from: ActorRef[ToLink], home: String): Hello =
    Hello(Protocol.Nodes.oldest, Some(Protocol.Nodes.newest), id, tries, from, home)

/** To the invoker's end of a session, besides `ToInvoker`. */
sealed trait ToLink extends LinkMessage

/** `contact` is how long the invoker may hear nothing before it must kill its packs, `version` what is spoken
  * in this session; none by controllers that speak one only, which is the invoker's oldest. `at` is the time
  * of day by which this scheduler places: what it places by this session it places later.
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

/** `wanted` is what waits for room that the invoker's cluster does not have (`WantRoom`). `free` is whether
  * an invoker that is leaving has nothing of the scheduler's any more (`NothingMore`); none by controllers of
  * releases that do not say.
  */
final case class Seen(
    beat: Long,
    wanted: Option[Vector[WantedPacks]] = None,
    free: Option[Boolean] = None
) extends ToLink

/** There will be no session: another invoker has this one's id and is alive, or no version is common. */
final case class Refused(reason: String) extends ToLink

/** The session is over; another one may begin. Where the scheduler `handsOver` that may be the next one's,
  * who adopts the packs.
  */
final case class Over(session: ActorRef[ToSession], handsOver: Boolean) extends ToLink

/** To the controller's end of a session, besides `ToController`. */
sealed trait ToSession extends LinkMessage
final case class Beat(
    number: Long,
    status: InvokerStatus,
    toController: ActorRef[ProducerController.Command[ToController]]
) extends ToSession

/** The invoker stops, and nothing of it is left. */
final case class Farewell(reason: String) extends ToSession

/** Where invokers say Hello. The actor is looked for anew with each, as a controller listens before it has
  * one: of a reference by its path Pekko may remember that nobody was there. (Such a path, too, is given a
  * short name that both sides keep, and what is sent by that goes to nobody for as long as the controller
  * lives.)
  */
final class SessionEndpoint(selection: ActorSelection):
  def !(hello: Hello): Unit = selection.tell(hello, Actor.noSender)

  /** Of the controller. */
  def address: Address = selection.anchorPath.address

object SessionEndpoint:
  /** Every controller has a system actor of this name that takes `Hello`. */
  val Name = "burst-door"

  /** The endpoint of the controller whose actor system has this address. */
  def at(controller: String)(using system: ActorSystem[?]): SessionEndpoint =
    SessionEndpoint(system.toClassic.actorSelection(s"$controller/system/$Name"))
