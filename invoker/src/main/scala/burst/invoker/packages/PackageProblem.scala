package burst.invoker.packages

/** Why a package cannot be used here. */
private[burst] enum PackageProblem:
  case TooLarge(bytes: Long)
  case Damaged
  case DamagedZip
  case Missing
  case NoAnswer
  case Nothing
  case TooManyEntries(allowed: Int)
  case LeavesPackage
  case NameTooLong
  case UnpacksToTooMuch

  /** This machine could not store it, whatever its content. */
  case Unwritable(why: String)

  /** Follows "package 0123abcd cannot be used". */
  def sentence: String = this match
    case TooLarge(bytes) => s"it has $bytes bytes, too many for this invoker"
    case Damaged => "it arrived damaged"
    case DamagedZip => "it is a damaged zip"
    case Missing => "the controller does not have it"
    case NoAnswer => "the controller does not answer"
    case Nothing => "it is empty"
    case TooManyEntries(allowed) => s"it holds more than the $allowed files and directories allowed"
    case LeavesPackage => "it holds a file whose name would leave the package"
    case NameTooLong => "it holds a file whose name is too long"
    case UnpacksToTooMuch => "it unpacks to more than is allowed"
    case Unwritable(why) => s"the cache cannot be written: $why"
