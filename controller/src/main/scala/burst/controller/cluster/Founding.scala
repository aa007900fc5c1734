package burst.controller.cluster

import burst.controller.store.Hold

/** What a controller does next to be a member of the one cluster there is.
  *
  * Who founds it is up to the database: every member holds a share of a lock there, so that who gets the
  * whole lock knows that nobody is a member. It founds, and keeps a share. Who does not get it knows that
  * somebody is a member, silent though they may be, and goes on looking for them.
  */
private[cluster] enum Founding:
  /** Look on for others. */
  case Look

  /** Try to take the whole lock. */
  case Claim

  /** Be the first member. */
  case Found

  /** Take a share of the lock. */
  case Share

  /** A member, and the database knows. */
  case Rest

private[cluster] object Founding:
  /** @param member
    *   whether this controller is a member, be it but a joining one
    * @param held
    *   what it holds of the lock
    * @param patient
    *   whether others may still have their time to answer
    */
  def next(member: Boolean, held: Option[Hold], patient: Boolean): Founding = (member, held) match
    case (true, Some(Hold.Shared)) => Rest
    case (true, _) => Share
    case (false, Some(Hold.Whole)) => Found
    case (false, _) => if patient then Look else Claim
