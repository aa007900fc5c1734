package burst.controller.gateway

/** Why an API is not made, shown or removed. */
enum GatewayProblem:
  case MissingField(path: String)
  case WrongType(path: String, expected: String)

  /** A document in a string that is none. */
  case NotADocument(path: String)

  /** Both a whole document, and one path. */
  case TwoKinds
  case BadBasePath(path: String)
  case BadPath(path: String)
  case BadVerb(verb: String)
  case BadAction(path: String)
  case BadTitle
  case NotSwagger
  case NoPaths
  case TooManyPaths(limit: Int)

  /** It asks for keys or tokens, of which this gateway knows nothing: others could call what its owner thinks
    * is protected.
    */
  case SecurityNotSupported
  case TooLarge(limit: Int)
  case TooMany(limit: Int)
  case TooLargeTogether(limit: Long)
  case NoSuchApi(name: String)
  case NoSuchPath(path: String)
  case NoSuchOperation(path: String, verb: String)

  /** An operation without its path. */
  case PathMissing
