package burst.controller.web

/** Why a request to a web action, or the action's result, yields no proper response. */
enum WebProblem:
  /** The action does not exist, or is not exported: strangers cannot tell which. */
  case NoSuchAction

  /** The action requires credentials of this platform. */
  case NeedsCredentials

  /** The action requires a secret in a header. */
  case NeedsSecret

  /** The parameter's name is reserved by the platform, or it is final in the action. */
  case ParameterNotAllowed(name: String)
  case MalformedQuery
  case MalformedForm
  case TooManyFields(limit: Int)

  /** The response has no type that the client accepts. */
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

  /** The action failed, or did not run. */
  case ActionFailed

  /** The action is still running. */
  case NotReady
