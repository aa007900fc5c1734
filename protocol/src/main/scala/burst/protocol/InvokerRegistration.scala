package burst.protocol

import org.apache.pekko.actor.typed.ActorRef

/** A command, and who is to hear what becomes of it. All reports of a pack go to whoever had it prepared. */
final case class InvokerRequest(command: InvokerCommand, replyTo: ActorRef[InvokerReport])

/** What an invoker asks of the registry of its controller, or of what stands for that in its own process. `I`
  * is all that it is to be told: by the registry no more than requests, by its end of a session also how long
  * its packs may run.
  */
sealed trait RegistryCommand[-I]

final case class RegisterInvoker[-I](status: InvokerStatus, invoker: ActorRef[I]) extends RegistryCommand[I]

final case class Heartbeat(status: InvokerStatus) extends RegistryCommand[Any]

/** What a session's invoker has kept from the one before. */
final case class InvokerHolds(id: InvokerId, invoker: ActorRef[InvokerRequest], holds: Holds)
    extends RegistryCommand[Any]

/** The invoker is not there any more, and nothing it ran runs on. */
final case class UnregisterInvoker(id: InvokerId, invoker: ActorRef[InvokerRequest], reason: String)
    extends RegistryCommand[Any]

final case class PackageRequest(fetch: FetchPackage, replyTo: ActorRef[PackageReply])
    extends RegistryCommand[Any]
