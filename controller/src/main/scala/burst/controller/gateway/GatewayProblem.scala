package burst.controller.gateway

/** Why an API is not created, shown or removed. */
enum GatewayProblem:
  case MissingField(path: String)
  case WrongType(path: String, expected: String)

  /** A document is sent as a string that is not one. */
  case NotADocument(path: String)

  /** Both a whole document and a single path were sent. */
  case TwoKinds
  case BadBasePath(path: String)
  case BadPath(path: String)
  case BadVerb(verb: String)
  case BadAction(path: String)
  case BadTitle
  case NotSwagger
  case NoPaths
  case TooManyPaths(limit: Int)

  /** The document requires keys or tokens, which this gateway does not support: others could call what its
    * owner believes is protected.
    */
  case SecurityNotSupported
  case TooLarge(limit: Int)
  case TooMany(limit: Int)
  case TooLargeTogether(limit: Long)
  case NoSuchApi(name: String)
  case NoSuchPath(path: String)
  case NoSuchOperation(path: String, verb: String)

  /** An operation is named without its path. */
  case PathMissing
