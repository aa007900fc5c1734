package burst.controller.scheduler

import burst.protocol.FlareId

/** Why a flare was not accepted, as data; `http/ApiError` renders it. */
enum Refusal:
  /** More workers than the whole cluster has slots. */
  case TooLarge(size: Int, clusterSlots: Int)

  /** No machine is large enough for units of `granularity` workers. */
  case UnitTooLarge(granularity: Int, largestMachine: Int)

  /** In units of `granularity`, only `usable` workers fit on the machines, however many slots there are. */
  case UnitsTooLarge(size: Int, granularity: Int, usable: Int, clusterSlots: Int)

  /** The flare exceeds a limit of its namespace. */
  case OverLimit(limit: String, asked: Long, allowed: Long)
  case NoInvokers
  case QueueFull(limit: Int)

  /** The group on which the flare was to run has ended. */
  case GroupEnded(group: FlareId)

  /** Its definition has been overwritten or removed since it was read: read it again. */
  case PackageGone

  /** A flare with its key has been stored in the meantime: look for that. */
  case AlreadySubmitted

  /** The namespace's key was revoked while the request was under way. */
  case NamespaceRevoked

  /** Whether a scheduler that knows more invokers might accept it. */
  def isOfFewInvokers: Boolean = this match
    case NoInvokers | _: (TooLarge | UnitTooLarge | UnitsTooLarge) => true
    case _ => false
