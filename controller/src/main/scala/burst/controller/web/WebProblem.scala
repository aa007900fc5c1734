package burst.controller.web

/** Why a request to a web action, or what one returns, comes to no response of its own. */
enum WebProblem:
  /** Not there, or not exported: strangers are not told which. */
  case NoSuchAction

  /** It asks for credentials of this platform. */
  case NeedsCredentials

  /** It asks for a secret in a header. */
  case NeedsSecret

  /** By a name that the platform has for itself, or that the action has for good. */
  case ParameterNotAllowed(name: String)
  case MalformedQuery
  case MalformedForm
  case TooManyFields(limit: Int)

  /** Its response is of no type that the client accepts. */
  case NotAcceptable(mediaType: String)

  /** The result is not what the extension asks for. */
  case NotOfExtension(extension: WebExtension)
  case NoText
  case BadStatus
  case BadHeader
  case HeadersTooLarge(limit: Int)
  case BadContentType
  case NotOfContentType
  case NotBase64

  /** The action broke, or did not run. */
  case ActionFailed

  /** It goes on running. */
  case NotReady
