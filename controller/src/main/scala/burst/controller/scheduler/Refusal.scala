package burst.controller.scheduler

import burst.protocol.FlareId

/** Why a flare was not accepted, as data; `http/ApiError` renders it. */
enum Refusal:
  /** More workers than the whole cluster has slots. */
  case TooLarge(size: Int, clusterSlots: Int)

  /** No machine is large enough for so many workers together, as `granularity` has them. */
  case UnitTooLarge(granularity: Int, largestMachine: Int)

  /** In units of `granularity`, only so many workers fit on the machines, however many slots there are. */
  case UnitsTooLarge(size: Int, granularity: Int, usable: Int, clusterSlots: Int)

  /** The namespace's own limit stands in the way. */
  case OverLimit(limit: String, asked: Long, allowed: Long)
  case NoInvokers
  case QueueFull(limit: Int)

  /** The group a flare is to run on has ended. */
  case GroupEnded(group: FlareId)

  /** Its definition has been overwritten or removed since it was read: to be read again. */
  case PackageGone

  /** Its key stands for a flare that was stored meanwhile: to be looked for. */
  case AlreadySubmitted

  /** The namespace's key was revoked while the request was under way. */
  case NamespaceRevoked

  /** A scheduler that knows more invokers might accept it. */
  def isOfFewInvokers: Boolean = this match
    case NoInvokers | _: (TooLarge | UnitTooLarge | UnitsTooLarge) => true
    case _ => false
