package burst.protocol

import org.apache.pekko.actor.typed.ActorRef

/** A command, and the receiver of its reports. All reports of a pack go to the sender of its `PreparePack`.
  */
final case class InvokerRequest(command: InvokerCommand, replyTo: ActorRef[InvokerReport])

/** A request of an invoker to the registry of its controller, or to the registry's stand-in in its own
  * process. `I` is the type of messages that the invoker receives: from the registry only requests, from its
  * end of a session also how long its packs may run.
  */
sealed trait RegistryCommand[-I]

final case class RegisterInvoker[-I](status: InvokerStatus, invoker: ActorRef[I]) extends RegistryCommand[I]

final case class Heartbeat(status: InvokerStatus) extends RegistryCommand[Any]

/** The packs that a session's invoker has kept from the previous session. */
final case class InvokerHolds(id: InvokerId, invoker: ActorRef[InvokerRequest], holds: Holds)
    extends RegistryCommand[Any]

/** The invoker has gone, and nothing that it ran is still running. */
final case class UnregisterInvoker(id: InvokerId, invoker: ActorRef[InvokerRequest], reason: String)
    extends RegistryCommand[Any]

final case class PackageRequest(fetch: FetchPackage, replyTo: ActorRef[PackageReply])
    extends RegistryCommand[Any]
