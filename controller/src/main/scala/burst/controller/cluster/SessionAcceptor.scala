package burst.controller.cluster

import burst.controller.invokers.InvokerRegistry
import burst.controller.scheduler.InvokerLoss
import burst.protocol.link.{Hello, Refused}
import burst.protocol.{InvokerId, Protocol, Versions}
import com.typesafe.config.Config
import org.apache.pekko.actor.typed.scaladsl.{ActorContext, Behaviors}
import org.apache.pekko.actor.typed.{ActorRef, Behavior}
import scala.concurrent.duration.{DurationLong, FiniteDuration}

/** `contact` is how long an invoker may hear nothing before it kills its packs, `kill` how long that may
  * take.
  */
private[cluster] final case class SessionSettings(contact: FiniteDuration, kill: FiniteDuration):
  /** An invoker that has been silent for this long has killed its packs. It counts from a moment before the
    * one the controller counts from.
    */
  def silence: FiniteDuration = contact + kill

private[cluster] object SessionSettings:
  def from(root: Config): SessionSettings =
    val config = root.getConfig("burst.invokers")
    SessionSettings(
      config.getDuration("contact-timeout").toMillis.millis,
      config.getDuration("kill-timeout").toMillis.millis
    )

/** Accepts invokers in other processes: begins a session for each that sends Hello, one per id, with the
  * newest version that both speak.
  */
private[cluster] object SessionAcceptor:
  private[cluster] final case class Ended(id: InvokerId, session: ActorRef[InvokerSession.Command])
  private[cluster] type Command = Hello | Ended

  def apply(
      epoch: Long,
      settings: SessionSettings,
      registry: ActorRef[InvokerRegistry.Command],
      spoken: Versions = Protocol.Nodes
  ): Behavior[Hello] = Behaviors
    .setup[Command]: context =>
      new SessionAcceptor(epoch, settings, registry, spoken, context).serving(Map.empty)
    .narrow

private final class SessionAcceptor(
    epoch: Long,
    settings: SessionSettings,
    registry: ActorRef[InvokerRegistry.Command],
    spoken: Versions,
    context: ActorContext[SessionAcceptor.Command]
):
  import SessionAcceptor.{Command, Ended}

  final case class Entry(hello: Hello, session: ActorRef[InvokerSession.Command])

  def serving(entries: Map[InvokerId, Entry]): Behavior[Command] = Behaviors.receiveMessage {
    case hello: Hello =>
      spoken.common(hello.versions) match
        case Some(version) => accept(entries, hello, version)
        case None =>
          context.log.warn(s"refused the invoker ${hello.id.value}: it speaks ${hello.versions}")
          hello.from ! Refused(otherVersion(hello))
          Behaviors.same
    case Ended(id, session) =>
      if entries.get(id).exists(_.session == session) then serving(entries.removed(id)) else Behaviors.same
  }

  private def accept(entries: Map[InvokerId, Entry], hello: Hello, version: Int): Behavior[Command] =
    entries.get(hello.id) match
      case Some(Entry(known, session)) if known.from == hello.from =>
        if known.tries < hello.tries then replace(entries, session, InvokerLoss.Reconnected, hello, version)
        else
          if known.tries == hello.tries then session ! InvokerSession.WelcomeAgain
          Behaviors.same
      case Some(Entry(known, session)) if hello.follows(known) =>
        replace(entries, session, InvokerLoss.Restarted, hello, version)
      case Some(Entry(_, session)) =>
        // The invoker sends Hello again until the session ends, one way or the other.
        session ! InvokerSession.Rival(hello.from)
        Behaviors.same
      case None => open(entries, hello, version)

  private def otherVersion(hello: Hello): String =
    val upgrade = if hello.versions.newest < spoken.oldest then "this invoker" else "the controllers"
    s"this invoker (${hello.id.value}) speaks ${hello.versions} of the protocol between nodes, the controllers " +
      s"$spoken: upgrade $upgrade."

  private def replace(
      entries: Map[InvokerId, Entry],
      session: ActorRef[InvokerSession.Command],
      loss: InvokerLoss,
      hello: Hello,
      version: Int
  ): Behavior[Command] =
    session ! InvokerSession.End(loss)
    open(entries, hello, version)

  private def open(entries: Map[InvokerId, Entry], hello: Hello, version: Int): Behavior[Command] =
    val id = hello.id
    val session = context.spawnAnonymous(InvokerSession(hello, version, epoch, settings, registry))
    context.watchWith(session, Ended(id, session))
    serving(entries.updated(id, Entry(hello, session)))
